"""Attention between two images: where is the missing texture?"""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Enlarge",
        "Every place of the enlarged image takes its missing texture from a place of the reference.",
        "super_resolution.enlarge:Enlarge",
        "",
        reads="picture",
        name="enlarge",
        formerly=(
            Former("Likeness", name="likeness"),
            Former(
                "Whole picture",
                name="enlarge-whole",
                fields={"reference": "second", "place": "spot", "sr_whole_reference": "second", "sr_at": "spot"},
                settings={"side": "whole"},
            ),
        ),
    ),
)
