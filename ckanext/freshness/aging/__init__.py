"""Rules for the age of data: update frequencies, thresholds, status, and the evidence for a date.

Pure: nothing here asks CKAN, a database, the network or the clock; ``now`` is an argument.
All datetimes are timezone-aware and in UTC.
"""
