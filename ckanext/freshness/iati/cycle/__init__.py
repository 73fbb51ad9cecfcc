"""IATI's update cycle: registry, files, copies, database and published files together."""
