"""The same images in several models."""
