"""What ``./dev demo`` shows: a FAIR Data Point harvested into a CKAN, by the commands that a site uses."""
