"""What a run has learned."""

from vizkit.views.entry import Entry

__all__ = ["VIEWS"]

VIEWS = (
    Entry(
        "Learned",
        "What a run answered at each of its checkpoints, and which places spoke for it.",
        "train.learned:Learned",
        "",
        reads="nothing",
        name="learned",
    ),
)
