"""The tests of ckanext.freshness_iati."""
