"""Harvests: read the records of a source, classify them and import them into the catalogue.

The modules here are the core, which is safe whatever the source is: which records are deleted
(:mod:`.strategy`), what proves an absence (:mod:`.listings`), the survey of a source, holds, previews, and the
stages of a job. The core knows no type of source: what is special about one stands in a subpackage of its own
(``fdp/``, ``ckan/``), what is special about RDF in ``rdf/``, and what is special about CKAN's
packages in ``packages/``.

Not here: words for people (``reporting/``), requests (``web/``), and anything about the freshness of a dataset
(``status/``).
"""
