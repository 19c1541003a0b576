"""Commands that change images or models."""
