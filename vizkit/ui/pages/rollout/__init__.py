"""All layers multiplied."""
