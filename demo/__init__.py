"""What ``./dev demo`` shows: small sources harvested into a CKAN, by the commands that a site uses."""
