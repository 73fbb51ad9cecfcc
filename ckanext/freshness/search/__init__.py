"""Solr documents of datasets, and the facet."""
