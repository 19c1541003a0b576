"""Attention between two images: where does the missing texture come from?"""

from vizkit.views.entry import Entry, Former

VIEWS = (
    Entry(
        "Enlarge",
        "Every place of the enlarged picture takes its missing texture from a place of the reference.",
        "super_resolution.enlarge:Enlarge",
        "",
        reads="picture",
        name="enlarge",
        formerly=(Former("Likeness", name="likeness", settings={"levels": True}),),
        page="super_resolution",
    ),
    Entry(
        "Whole picture",
        "The image of the sidebar as it is, four times as large, one part in full size.",
        "super_resolution.whole:WholePicture",
        "",
        reads="picture",
        name="enlarge-whole",
        page="super_resolution",
    ),
)
