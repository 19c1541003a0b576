"""Figures that lie beside bundled models, in files that pages read."""
