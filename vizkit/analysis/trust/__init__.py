"""Whether a map is true: it is scored, and set beside chance."""
