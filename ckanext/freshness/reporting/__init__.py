"""Reports for people and programs: tables, counts, figures and words.

Everything here only reads, except for the daily counts. Whoever shows a
dataset asks :mod:`.visibility` who may see it.

Not here: decisions of any kind. A status, a broken link and a deletion are decided in ``aging/``,
``checking/`` and ``harvesting/``, and shown here. HTTP and templates are in ``views/``, mails in
``mails/``.
"""
