"""Bytes to text, and text that was decoded wrongly."""
