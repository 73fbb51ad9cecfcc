"""The IATI cycle, whole: registry, files, store, database, downloads."""
