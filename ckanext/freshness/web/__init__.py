"""The one way out to the network: polite, bounded, and closed to the inside of networks.

:mod:`.client` asks, :mod:`.guard` says which addresses may be connected to, :mod:`.hosts` how often
a host may be asked, :mod:`.urls` what a URL is, :mod:`.names` how names are looked up, and
:mod:`.errors` why there was no answer. Nothing here knows CKAN or reads a configuration: settings
are arguments.
"""
