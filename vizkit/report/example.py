"""A report to begin with: what the page shows before anything was kept."""

from vizkit.report.document import Entry, Report
from vizkit.report.item import Item, Other
from vizkit.views.explore import Explore
from vizkit.views.relevance.maps import Maps
from vizkit.views.rollout import Rollout

VIT, IMAGE, AT = ("bundled:insects_vit", "ViT · insects"), "damselfly nymph", (0.45, 0.5)
SWIN = Other("bundled:insects_swin", "Swin · insects")

EXAMPLE = Report(
    "Where does a ViT look?",
    (
        Entry(
            Item(Explore(layer=4), *VIT, IMAGE, link="explore", at=AT),
            "One patch of the damselfly nymph, and where it looks in layer 4. A comment like this says what to see.",
        ),
        Entry(
            Item(Rollout(staged=True), *VIT, IMAGE, link="rollout", at=AT, others=(SWIN,)),
            "All layers multiplied, in two models on one scale.",
        ),
        Entry(
            Item(Maps(staged=True), *VIT, IMAGE, link="relevance", at=AT),
            "Evidence for the answer. Each figure is saved with its numbers, and replay.json makes all of them again.",
        ),
    ),
)
