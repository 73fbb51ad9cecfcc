"""The only way to the network: polite, with limits, and without access to internal networks.

:mod:`.client` decides when a request is sent, :mod:`.connections` sends it, :mod:`.exchange` reads the answer,
:mod:`.address_guard` refuses internal addresses, :mod:`.hosts` limits the requests to each host, :mod:`.urls`
parses URLs, and :mod:`.errors` has the reasons of failures. These modules import nothing of CKAN and read no
configuration: settings are arguments.
"""
