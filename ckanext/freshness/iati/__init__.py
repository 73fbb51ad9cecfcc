"""Everything that only IATI needs.

``registry/`` harvests registries, ``policy/`` has the rules by which files are checked (pure), ``files/``
writes index files and ZIPs (without CKAN), and ``cycle/`` puts them together.

Not here: what serves other catalogues, too. The engine of checks, copies and harvests are used as they are.
"""
