"""The fixtures of mails."""

from ckanext.freshness.tests.mails.conftest import *  # noqa: F403
