"""A record as a package: its layout, its identifiers, and its merging with the package that is there.

Nothing here knows of RDF or of a type of source.
"""
