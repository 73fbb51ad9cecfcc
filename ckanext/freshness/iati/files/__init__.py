"""The files that list the datasets of an IATI source, and its bulk ZIPs."""
