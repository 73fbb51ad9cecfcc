"""The tests of both packages start in the same way."""

pytest_plugins = ["ckanext.freshness.tests.suite"]
