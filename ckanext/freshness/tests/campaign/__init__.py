"""A campaign: a random catalogue is harvested amid random changes, faults, kills and stops of services.

``./dev campaign`` runs it. After each round, the database, Solr and the model of the catalogue are compared.
"""
