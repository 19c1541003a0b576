"""What a network that finds things said, and how that is judged."""
