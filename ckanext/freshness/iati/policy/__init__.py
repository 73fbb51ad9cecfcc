"""The policy ``iati``: checks by the rules of the Bulk Data Service's update cycle."""
