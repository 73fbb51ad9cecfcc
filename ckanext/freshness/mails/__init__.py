"""Mails to maintainers about their datasets and links, and to operators about problems of the site.

:mod:`.kinds` is the table of kinds. :mod:`.outbox` and :mod:`.findings` read the news from the database,
:mod:`.recipients` reads people and datasets from CKAN, :mod:`.rules` decides about mails and recipients.
:mod:`.messages` writes the mails, :mod:`.delivery` sends them, and :mod:`.outbox` stores their outcomes.
"""
