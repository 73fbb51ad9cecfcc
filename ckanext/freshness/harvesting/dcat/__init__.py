"""Catalogues that are published as RDF: one document, or pages of one list."""
