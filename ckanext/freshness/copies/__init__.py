"""Last known good copies: the bytes that a URL once served, kept for the day when it serves them no more.

:mod:`.store` keeps bytes and a ZIP of them, in a directory or in an object store; :mod:`.names` makes
keys of names; :mod:`.archive` puts ZIPs of many copies together without compressing again; and
:mod:`.index` says what is in the files that list them. Nothing here knows CKAN, a database or the
network of `..web`: settings and moments are arguments.
"""
