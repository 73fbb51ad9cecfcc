"""Opens untrusted content in processes of their own, without network and with limits.

:mod:`.processes` is this side, :mod:`.worker` the other one.
"""
