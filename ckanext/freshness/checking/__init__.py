"""What is really at a URL.

:mod:`.content` says what bytes are and what their hash is, :mod:`.formats` whether they are what was
promised, :mod:`.hashing` takes a body as it comes, :mod:`.sandbox` opens files of strangers at a safe
distance, and :mod:`.decide` says what an answer means. :mod:`.iati` is the other policy.
"""
