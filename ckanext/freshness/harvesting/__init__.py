"""What is registered elsewhere: crawled, classified, and imported into the catalogue."""
