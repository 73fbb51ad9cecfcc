"""Harvests, checks and ages the datasets of a CKAN catalogue."""
