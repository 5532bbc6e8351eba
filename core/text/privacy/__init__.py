"""Personal data and unwanted words."""
