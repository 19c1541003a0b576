"""What views send to each canvas: as they are usually set, with one field changed, of other models and pictures."""

import json
from functools import cache

from tests.views import contract
from vizkit.datasets import samples
from vizkit.figure.canvas.rows import text64
from vizkit.figure.palette import colours
from vizkit.hosts.packing import Packing
from vizkit.hosts.stage import leading
from vizkit.image import data_url
from vizkit.traces import NotApplicable
from vizkit.views import class_of
from vizkit.views.blocks import Canvas, Grid, Map, Tiles
from vizkit.views.subject import Subject

VIT, SWIN, CNN = ("digits_vit", "digit 3"), ("windows", "digit 3"), ("digits_cnn", "digit 3")
OTHER_DIGIT, INSECT, NO_MODEL = ("digits_vit", "digit 7"), ("two_heads", "mayfly nymph"), ("a digit", "digit 3")
VIEWS_OF = {
    "vizkit_alike": (["pca", "match", "label"], [VIT, OTHER_DIGIT, SWIN]),
    "vizkit_bias": (["window-attention"], [SWIN, ("digits_swin", "digit 3")]),
    "vizkit_block": (["flow"], [VIT, SWIN]),
    "vizkit_cut": (["cut"], [VIT, OTHER_DIGIT, SWIN]),
    "vizkit_evaluated": (["data-map", "evaluation"], [VIT, SWIN]),
    "vizkit_feature_maps": (["feature-maps"], [CNN, VIT, OTHER_DIGIT]),
    "vizkit_flow": (["flow"], [VIT, SWIN, CNN]),
    "vizkit_heads": (["walk-through", "explore"], [VIT, OTHER_DIGIT, SWIN]),
    "vizkit_look": (["explore", "swin-stages", "rollout", "steer"], [VIT, OTHER_DIGIT, SWIN, INSECT]),
    "vizkit_matrix": (["walk-through"], [VIT, OTHER_DIGIT, SWIN]),
    "vizkit_order": (["shuffle"], [VIT, OTHER_DIGIT, SWIN]),
    "vizkit_panels": (["boxes", "queries"], [NO_MODEL]),
    "vizkit_points": (["data-map"], [VIT, SWIN]),
    "vizkit_predict": (["masks"], [NO_MODEL]),
    "vizkit_products": (["flow"], [VIT, SWIN]),
    "vizkit_race": (["trust"], [VIT]),
    "vizkit_slide": (["slide"], [VIT, INSECT]),
    "vizkit_strips": (["word-steps"], [VIT, OTHER_DIGIT]),
    "vizkit_suspects": (["data-suspects"], [VIT, SWIN]),
    "vizkit_switches": (["switches"], [VIT, OTHER_DIGIT, SWIN]),
    "vizkit_terms": (["rollout"], [VIT, OTHER_DIGIT, SWIN]),
    "vizkit_tiles": (["rollout", "relevance", "compare-maps", "feature-maps", "explore"], [VIT, OTHER_DIGIT, SWIN]),
    "vizkit_transfer": (["enlarge"], [NO_MODEL, ("an insect", "mayfly nymph")]),
    "vizkit_translate": (["translate"], [NO_MODEL]),
    "vizkit_walk": (["walk-through"], [VIT, OTHER_DIGIT, SWIN]),
    "vizkit_windows": (["shifted-windows"], [SWIN, ("digits_swin", "digit 7")]),
    "vizkit_withstands": (["compare-robustness"], [VIT, OTHER_DIGIT]),
    "vizkit_stage": (["rollout", "explore", "trust"], [VIT, OTHER_DIGIT]),
    "vizkit_scrubber": (["rollout", "explore", "trust"], [VIT, SWIN]),
}
"""By canvas the views that send it something, and of which models and pictures they are drawn: the first are enough
for a quick look."""
SLOW = ("vizkit_evaluated", "vizkit_panels", "vizkit_transfer", "vizkit_withstands")
AT = (0.3, 0.7)


@cache
def subject(model, picture, point):
    made = contract.subject(model)
    return (
        Subject(lambda: made.loaded, samples.picture(picture), image=picture, point=point) if made.has_model else made
    )


def messages(script, every):
    """All different ones, at the least two. `every`: of every view and model each field, else of the first view."""
    if script == "vizkit_guess":
        return [*guesses()]
    views, given = VIEWS_OF[script]
    found = {}
    for name in views if every else views[:1]:
        for number, (model, picture) in enumerate(given):
            for point in [AT] if number else [(0.5, 0.5), AT]:
                of = subject(model, picture, point)
                try:
                    variants = [view for _, view in contract.settings(class_of(name), of, every=False)]
                except NotApplicable:
                    continue
                whole = every or (not number and point != AT)
                for view in variants:
                    made = {json.dumps(message, sort_keys=True): message for message in sent(script, view, of)}
                    found = made | found
                    if made and not whole:  # else the first that shows this canvas
                        break
    return [*found.values()]


def sent(script, view, of):
    """The first message of this view as it is set; none where it has no meaning."""
    try:
        view = contract.checked(view, [of])
        shown = contract.given(view, of)
        if script in ("vizkit_stage", "vizkit_scrubber"):
            yield from played(script, view, of)
        else:
            yield from first(script, view.show(shown), shown if isinstance(shown, list) else [shown])
    except NotApplicable:
        return


def first(script, blocks, of):
    pack = Packing("over image")
    for block in contract.everything(blocks):
        if isinstance(block, Map | Tiles | Grid | Canvas):
            for part in pack.all([block], of):
                if part.get("script") == script:
                    yield {**part["data"], "guide": ""} if script == "vizkit_look" else part["data"]
                    return


def played(script, view, of):
    book, _, _ = leading(view, [of], "over image")
    if book is None:
        return
    asked = book["field"]
    if script == "vizkit_scrubber":
        yield asked
    else:
        yield {"book": json.dumps({**book, "field": {**asked, "value": None}}), "value": asked["value"]}


def guesses():
    """As ui/pages/lessons/question.py makes them."""
    for mode, picture, grid in (("look", "digit 3", (4, 4)), ("point", "digit 3", (4, 4)), ("draw", "digit 7", (8, 8))):
        rgb = samples.picture(picture)
        values = bytes(range(16)) if mode == "look" else b""
        yield {
            "image": data_url(rgb),
            "size": rgb.shape[:2],
            "grid": grid,
            "mode": mode,
            "epoch": f"{mode}|{grid}",
            "values": text64(contract.np.frombuffer(values, contract.np.uint8)),
            "colours": text64(colours()),
            "opacity": (0.2, 0.8),
            "guessed": [[0, 1]] if mode == "look" else [],
            "best": [[1, 1]] if mode == "look" else [],
            "marked": [[2, 2]] if mode == "point" else [],
            "label": f"The image in {grid[0]} × {grid[1]} patches.",
            "hint": mode,
            "words": "",
        }
