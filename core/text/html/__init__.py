"""Web pages to text that keeps its structure."""
