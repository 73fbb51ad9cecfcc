"""Everything about IATI: its registries, its update cycle, and the files that a cycle publishes."""
