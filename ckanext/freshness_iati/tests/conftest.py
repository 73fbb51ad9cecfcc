"""The fixtures of all tests."""

from ckanext.freshness.tests.conftest import *  # noqa: F403
