"""Last known good copies within CKAN: which are kept, where, and who gets them."""
