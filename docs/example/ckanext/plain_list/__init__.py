"""An extension of ckanext-freshness with one of each part that an extension can have."""
