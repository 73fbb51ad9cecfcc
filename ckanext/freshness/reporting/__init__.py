"""Reports about freshness, checks and runs, for people and programs."""
