"""FAIR Data Points: how they are crawled, and what their records become in CKAN."""
