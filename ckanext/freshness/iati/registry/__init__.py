"""Harvests of IATI registries: reporting organisations and their datasets, each of which is one file."""
