"""Records that belong together, as one document."""
