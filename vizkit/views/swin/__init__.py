"""Swin: windows that shift and merge."""
