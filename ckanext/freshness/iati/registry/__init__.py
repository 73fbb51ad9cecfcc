"""Harvests of IATI registries: reporting organisations and their datasets. A dataset is one file."""
