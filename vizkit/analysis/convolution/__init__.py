"""Convolutional networks: kernels, pooling, activations, norms."""
