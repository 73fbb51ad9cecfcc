"""Last known good copies: the most recent valid bytes of a URL, kept for the day when the URL fails.

:mod:`.store` keeps files, and :mod:`.store_keys` makes keys of names. These modules import nothing of CKAN, no
database and no network client: settings and moments are arguments.
"""
