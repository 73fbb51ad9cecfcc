"""The policy ``iati``: when the Bulk Data Service's update cycle asks what, and what follows."""
