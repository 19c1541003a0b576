"""A picture, the same four times smaller, and a reference that resembles it more or less: what TTSR learns from."""
