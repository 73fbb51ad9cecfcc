"""The freshness of datasets in CKAN.

An edit, a refresh and the results of checks all take the same way: :mod:`.snapshot` reads datasets with
what is remembered of them, :mod:`.judgement` judges them by ``aging/``, :mod:`.changes` tells what changed,
:mod:`.assessment` writes our tables and the extras, and :mod:`.indexing` sends the Solr documents.

Not here: thresholds and vocabularies (``aging/``), checks (``checking/``), CKAN's hooks and actions
(``logic/``), and words for people (``reporting/``). No module here asks the network.
"""
