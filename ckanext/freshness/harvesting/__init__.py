"""Harvests: read the records of a source, classify them and import them into the catalogue."""
