"""The freshness of datasets in CKAN: evidence is read, judged and written into their extras."""
