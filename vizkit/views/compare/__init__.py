"""The same images in several models."""

from vizkit.views.entry import Entry

__all__ = ["VIEWS"]

VIEWS = (
    Entry(
        "Maps",
        "A map of every model on several images, all by one method and on one scale.",
        "compare.maps:Maps",
        fragment=False,
        answers=True,
        name="compare-maps",
        page="compare",
    ),
)
