"""Attention between two images: where does the missing texture come from?"""

from vizkit.views.entry import Entry

VIEWS = (
    Entry(
        "Enlarge",
        "Every place of the enlarged picture takes its missing texture from a place of the reference.",
        "super_resolution.enlarge:Enlarge",
        "",
        reads="picture",
        name="enlarge",
        page="super_resolution",
    ),
    Entry(
        "Whole picture",
        "The picture of the sidebar as it is, four times as large.",
        "super_resolution.whole:WholePicture",
        "",
        reads="picture",
        name="enlarge-whole",
        page="super_resolution",
    ),
    Entry(
        "Likeness",
        "What a reference is worth, from the same scene to pure noise.",
        "super_resolution.likeness:Likeness",
        "",
        reads="nothing",
        name="likeness",
        page="super_resolution",
    ),
)
