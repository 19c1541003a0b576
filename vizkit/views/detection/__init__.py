"""Learned questions find things: what each of them looks at, and why its box."""

from vizkit.views.entry import Entry, Only

__all__ = ["PICTURE", "SCENE", "VIEWS"]

SCENE, PICTURE = "scene", "picture"
OF = {SCENE: "drawn scene", PICTURE: "picture of the sidebar"}
ONLY = Only("source", "det_of", PICTURE, OF[PICTURE])

VIEWS = (
    Entry(
        "Boxes",
        "Every box is what one query says: click it to see where that query looked, and what speaks for its class.",
        "detection.boxes:Boxes",
        "",
        reads="picture",
        name="boxes",
        page="detection",
        only=ONLY,
    ),
    Entry(
        "Encoder",
        "Before anything is asked, every place looks at all others, and mostly at its own thing.",
        "detection.encoder:Encoder",
        "",
        reads="picture",
        name="encoder",
        page="detection",
        only=ONLY,
    ),
    Entry(
        "Decoder",
        "Boxes move and get sure from layer to layer; queries that know nothing of each other say things twice.",
        "detection.decoder:Decoder",
        "",
        reads="picture",
        name="decoder",
        page="detection",
        only=ONLY,
    ),
    Entry(
        "Queries",
        "Every query has its habits: where its boxes lie, how large they are, and of what.",
        "detection.queries:Queries",
        "",
        reads="nothing",
        name="queries",
        page="detection",
    ),
    Entry(
        "Matching",
        "While it learns, each thing is given to one query: the assignment that costs least in all.",
        "detection.matching:Matching",
        "",
        reads="picture",
        name="matching",
        page="detection",
        only=ONLY,
    ),
    Entry(
        "Masks",
        "Every pixel goes to the query whose mask is surest there.",
        "detection.segments:SegmentMasks",
        "",
        reads="picture",
        name="segments",
        page="detection",
        only=ONLY,
    ),
    Entry(
        "Beside a classifier",
        "A ViT and a Swin, asked for each class of the scene, beside the boxes of that class.",
        "detection.classifier:BesideClassifier",
        "",
        reads="picture",
        name="beside-a-classifier",
        page="detection",
        only=ONLY,
    ),
    Entry(
        "Published",
        "DETR against Faster R-CNN: better on large objects, worse on small ones.",
        "detection.published:Published",
        "",
        reads="nothing",
        name="published-detectors",
        page="detection",
    ),
)
