"""Sequences: the transformer on texts, where it began, beside the recurrent networks that it replaced."""

from vizkit.ui.views import View

VIEWS = (
    View("Memory", "What a recurrent network forgets on the way, and what attention keeps in reach.",
         "memory", "", reads="nothing"),
    View("Words", "Which words are alike, and what becomes of one word at two places.", "words", "", reads="nothing"),
    View(
        "From words to patches", "The same block on a sentence and on an image: what changes and what stays.", "bridge",
        "vit", fragment=False, query="patch",
    ),
)  # fmt: skip


def waiting() -> None:
    """Until the models can be used: whoever imports a part of the package while a thread imports the whole of it gets
    modules that are half there (the import of a part does not wait for its parent)."""
    import vizkit.models  # noqa: F401
