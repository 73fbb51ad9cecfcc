"""Catalogues in RDF."""
