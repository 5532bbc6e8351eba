"""Files inside files: archives, compression, and what kind of content bytes are."""
