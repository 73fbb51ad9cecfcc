"""Checks of URLs: selecting resources, checking them, and writing the results.

:mod:`.selection` selects, :mod:`.engine` and :mod:`.hdx_check` check by the rules of :mod:`.decisions`, and
:mod:`.result_writer` writes. :mod:`.check` is the interface to other policies.
"""
