"""Last known good copies in CKAN: which resources have one, where it is, and who may read it."""
