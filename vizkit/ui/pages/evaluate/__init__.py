"""Models on a set of pictures, beside published results."""
