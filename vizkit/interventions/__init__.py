"""Changing images and models, where both meet: what pages, commands and reports are given."""

from vizkit.interventions.changes import Changes, bundled_picture

__all__ = ["Changes", "bundled_picture"]
