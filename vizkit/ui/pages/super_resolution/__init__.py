"""Super-resolution: attention between two images, where each place of one takes the texture of a place of the other."""

from vizkit.ui.views import View

VIEWS = (
    View(
        "Enlarge",
        "Every place of the enlarged picture takes its missing texture from a place of the reference.",
        "enlarged",
        "",
        reads="picture",
    ),
    View("Whole picture", "The picture of the sidebar as it is, four times as large.", "whole", "", reads="picture"),
    View("Likeness", "What a reference is worth, from the same scene to pure noise.", "likeness", "", reads="nothing"),
)


def waiting() -> None:
    """Until the models can be used: a part of a package that is still being imported is only half there."""
    import vizkit.models  # noqa: F401
