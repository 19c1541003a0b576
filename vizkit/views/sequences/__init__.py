"""Transformers on texts, where they began, beside the recurrent networks that they replaced."""

from vizkit.views.entry import Entry

__all__ = ["VIEWS"]

VIEWS = (
    Entry(
        "Translate",
        "Which words each digit of a date looks at while it is written.",
        "sequences.translate:Translate",
        "",
        reads="nothing",
        name="translate",
        page="sequences",
    ),
)
