"""The tests of both packages start in the same way.

The names are imported, because CKAN's fixtures take the place of fixtures of the same name in a plugin.
"""

from ckanext.freshness.tests.suite import *  # noqa: F403
