"""Whole update cycles: registry, files, store, database, downloads."""
