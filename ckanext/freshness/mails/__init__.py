"""Mails to people whose datasets are not fresh any more, and to those who look after the site.

What is to be told to whom is decided by :mod:`ckanext.freshness.mails.rules`; here is what CKAN knows
of people and datasets (:mod:`.people`), what was sent (:mod:`.outbox`), what mails say (:mod:`.writing`),
and the work itself (:mod:`.sending`).
"""
