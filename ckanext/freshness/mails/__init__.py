"""Mails to maintainers about datasets that need an update, and to sysadmins about problems of the site.

:mod:`.rules` decides about mails and recipients, :mod:`.recipients` reads people and datasets from CKAN,
:mod:`.outbox` stores mails and their outcomes, :mod:`.messages` writes them, :mod:`.delivery` sends them.
"""
