"""IATI: harvests of registries, the update cycle, and the files that it publishes."""
