"""The index files and bulk ZIPs of an IATI source."""
