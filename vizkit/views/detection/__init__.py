"""Learned questions find things: what each of them looks at, and why its box."""

from functools import partial

from vizkit.views.entry import Entry, Only

SCENE, PICTURE = "scene", "picture"
OF = {SCENE: "drawn scene", PICTURE: "picture of the sidebar"}
ONLY = Only("source", "det_of", PICTURE, OF[PICTURE])

of_scene = partial(Entry, needs="", reads="picture", page="detection", only=ONLY)
without = partial(Entry, needs="", reads="nothing", page="detection")

VIEWS = (
    of_scene(
        "Boxes",
        "Every box is what one query says: click it to see where that query looked, and what speaks for its class.",
        "detection.boxes:Boxes",
        name="boxes",
    ),
    of_scene(
        "Encoder",
        "Before anything is asked, every place looks at all others, and mostly at its own thing.",
        "detection.encoder:Encoder",
        name="encoder",
    ),
    of_scene(
        "Decoder",
        "Boxes move and get surer from layer to layer; without self-attention queries report one object twice.",
        "detection.decoder:Decoder",
        name="decoder",
    ),
    without(
        "Queries",
        "Every query has its habits: where its boxes lie, how large they are, and of what.",
        "detection.queries:Queries",
        name="queries",
    ),
    of_scene(
        "Matching",
        "While it learns, each thing is given to one query: the assignment that costs least in all.",
        "detection.matching:Matching",
        name="matching",
    ),
    of_scene(
        "Masks",
        "Every pixel goes to the query whose mask is surest there.",
        "detection.segments:SegmentMasks",
        name="segments",
    ),
    of_scene(
        "Beside a classifier",
        "A ViT and a Swin, asked for each class of the scene, beside the boxes of that class.",
        "detection.classifier:BesideClassifier",
        name="beside-a-classifier",
    ),
    without(
        "Published",
        "DETR against Faster R-CNN: better on large objects, worse on small ones.",
        "detection.published:Published",
        name="published-detectors",
    ),
)
