"""What text must be like to stay."""
