"""CKAN's actions, auth functions and validators of this extension.

Each function of the modules of actions whose name begins with ``freshness_`` is an action of that name.
It is called only if the auth function of the same name allows it.
"""
