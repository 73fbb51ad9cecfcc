"""IATI's update cycle, put together: registry, files, copies, database, index files."""
