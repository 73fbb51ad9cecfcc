"""The only way to the network: polite, with limits, and without access to internal networks.

:mod:`.client` sends requests, :mod:`.address_guard` refuses internal addresses, :mod:`.hosts` limits the
requests to each host, :mod:`.urls` parses URLs, :mod:`.dns` looks up names, and :mod:`.errors` has the
reasons of failures. These modules import nothing of CKAN and read no configuration: settings are arguments.
"""
