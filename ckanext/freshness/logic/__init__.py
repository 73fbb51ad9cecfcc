"""CKAN's actions, auth functions and validators of this extension."""
