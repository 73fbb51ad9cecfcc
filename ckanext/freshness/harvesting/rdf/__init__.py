"""RDF as records: parsing in the sandbox, the graph of a record, and the mapping of its predicates.

Nothing here knows how a source lists its records.
"""
