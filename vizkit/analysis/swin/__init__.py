"""Windows that shift and merge, in numbers."""
