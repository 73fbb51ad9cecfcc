"""Last known good copies: the most recent valid bytes of a URL, kept for the day when the URL fails.

:mod:`.location` opens a store, :mod:`.store` says what a store does, and :mod:`.directory` and :mod:`.remote`
keep the files in a directory or in an object store. :mod:`.store_keys` makes keys of names, and
:mod:`.zip_format` writes ZIPs. These modules import nothing of CKAN, no database and no network client:
settings and moments are arguments.
"""
