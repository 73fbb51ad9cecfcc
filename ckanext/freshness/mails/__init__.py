"""Mails to maintainers about their datasets and links, and to operators about problems of the site.

:mod:`.kinds` is the table of kinds: who receives a kind, how often, what is news and how it is shown.
:mod:`.recipients` knows the people, :mod:`.digests` sends each of them one mail with all their news.
"""
