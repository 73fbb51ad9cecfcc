"""CKAN portals as sources: what is special about reading another CKAN through its API.

``api.py`` asks and proves that lists were read whole, ``crawl.py`` reads a portal, ``mapping.py`` makes
records of its datasets, and ``source_type.py`` has the configuration. Other source types of CKANs use the
same crawl with a mapping of their own.

Not here: what becomes of a record on this site (``packages/``), and what is deleted (``strategy.py``).
"""
