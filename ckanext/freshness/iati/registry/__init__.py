"""IATI's registry: reporting organisations and their datasets, each of which is one file."""
