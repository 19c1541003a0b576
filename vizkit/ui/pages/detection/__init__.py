"""Detection: a DETR's queries, the boxes that they find, and where they look for them."""

from vizkit.ui.views import View

VIEWS = (
    View("Boxes", "Every box is what one query says: click it to see where that query looked, and what speaks for "
         "its class.", "boxes", "",
         picture=True),
    View("Encoder", "Before anything is asked, every place looks at all others, and mostly at its own thing.",
         "encoder", "", picture=True),
    View("Decoder", "Boxes move and get sure from layer to layer; queries that know nothing of each other say things "
         "twice.", "decoder", "", picture=True),
    View("Queries", "Every query has its habits: where its boxes lie, how large they are, and of what.", "queries", ""),
    View("Matching", "While it learns, each thing is given to one query: the assignment that costs least in all.",
         "matching", "", picture=True),
    View("Masks", "Every pixel goes to the query whose mask is surest there.", "masks", "", picture=True),
    View("Beside a classifier", "A ViT and a Swin, asked for each class of the scene, beside the boxes of that class.",
         "classifier", "",
         picture=True),
    View("Published", "DETR against Faster R-CNN: better on large objects, worse on small ones.", "published", ""),
)  # fmt: skip


def waiting() -> None:
    """Until the models can be used: a part of a package that is still being imported is only half there."""
    import vizkit.models  # noqa: F401
