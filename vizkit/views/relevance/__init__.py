"""Where a decision came from: the maps of many methods, and how far they are to be believed."""
