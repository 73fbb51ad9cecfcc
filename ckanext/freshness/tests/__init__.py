"""The tests of ckanext-freshness; they mirror its rooms."""
