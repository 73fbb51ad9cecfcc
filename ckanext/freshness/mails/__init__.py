"""Mails to maintainers about their datasets and links, and to operators about problems of the site.

:mod:`.kinds` is the table of kinds: how often a kind is sent, what is news and how it is shown. :mod:`.news`
says who is told. :mod:`.recipients` knows the people, :mod:`.digests` sends each of them one mail with all
their news.
"""
