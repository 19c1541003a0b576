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
    Entry(
        "Inside",
        "What changed inside a network while it learned: heads, positions, layers, weights, answers.",
        "train.inside:Inside",
        "",
        reads="nothing",
        name="inside",
    ),
    Entry(
        "Landscape",
        "The loss around a run's last checkpoint, and the path there.",
        "train.landscape:LossLandscape",
        "",
        reads="nothing",
        name="landscape",
    ),
)
