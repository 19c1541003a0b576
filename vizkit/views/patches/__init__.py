"""The image as the sequence that a transformer reads, and what it costs."""
