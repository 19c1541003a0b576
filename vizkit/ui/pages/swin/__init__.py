"""Windows that shift and merge, step by step."""
