"""FAIR Data Points: the crawl of a source, and the mapping of its records."""
