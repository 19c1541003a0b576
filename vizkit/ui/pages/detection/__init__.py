"""Detection: a DETR's queries, the boxes that they find, and where they look for them."""

from vizkit.ui.views import View

VIEWS = (
    View("Boxes", "Every box is what one query says: where did it look, and what speaks for its class?", "boxes", "",
         picture=True),
    View("Encoder", "Before anything is asked, every place looks at all others: do they keep to their own thing?",
         "encoder", "", picture=True),
    View("Decoder", "Boxes move and get sure from layer to layer; queries that know nothing of each other say things "
         "twice.", "decoder", "", picture=True),
)  # fmt: skip


def waiting() -> None:
    """Until the models can be used: a part of a package that is still being imported is only half there."""
    import vizkit.models  # noqa: F401
