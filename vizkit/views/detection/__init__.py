"""Learned questions find things: what each of them looks at, and why its box."""

from functools import partial

from vizkit.views.entry import Entry, Former, Only

SCENE, PICTURE = "scene", "picture"
ASKS, PLACE = "query", "place"
SAME = {each: each for each in ("source", "scene", "detector")}
OF = {SCENE: "drawn scene", PICTURE: "your image"}
ONLY = Only("source", "det_of", PICTURE, OF[PICTURE])

of_scene = partial(Entry, needs="", reads="picture", only=ONLY)

VIEWS = (
    of_scene(
        "Boxes",
        "Every box and mask is what one query says: point at it to see where it looked, and what speaks for its class.",
        "detection.boxes:Boxes",
        name="boxes",
        formerly=(
            Former(
                "Encoder",
                name="encoder",
                fields=SAME
                | {"layer": "layer", "head": "head", "place": "place"}
                | {"det_encoder_layer": "layer", "det_encoder_head": "head"},
                settings={"map": PLACE},
            ),
            Former("Decoder", name="decoder", fields=SAME | {"layer": "layer", "score": "score", "det_step": "layer"}),
            Former("Beside a classifier", name="beside-a-classifier", fields=SAME | {"score": "score"}),
            Former("Masks", name="segments", fields=SAME | {"score": "score"}),
        ),
    ),
    of_scene(
        "Queries",
        "While it learns, each thing is given to the query that costs least in all; so every query gets its habits.",
        "detection.queries:Queries",
        name="queries",
        formerly=(
            Former(
                "Matching",
                name="matching",
                fields=SAME | {each: each for each in ("layer", "label", "distance", "overlap")},
            ),
        ),
    ),
    Entry(
        "Many scenes",
        "How good detectors are at finding things in scenes, and where they are wrong.",
        "detection.detectors:Detectors",
        "",
        fragment=False,
        reads="nothing",
        formerly=(Former("Detectors", "evaluate"),),
        name="detectors",
    ),
)
