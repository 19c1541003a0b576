"""Convolutional networks, seen with the same eyes as transformers."""
