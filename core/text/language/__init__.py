"""Which language a text is in, natural or programming."""
