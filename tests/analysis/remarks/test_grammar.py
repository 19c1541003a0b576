"""Every sentence, over a grid of counts and shares: no fault of grammar that a number brings about.

What is said is checked elsewhere, by hand; here every rule speaks with one thing and with many, with nothing, with next
to nothing, with nearly all and with all.
"""

import importlib
import inspect
import math
import pkgutil
import re
from dataclasses import replace
from itertools import product
from typing import get_type_hints

import numpy as np
import pytest
import torch

from vizkit.analysis import remarks as package
from vizkit.analysis.attention.patches import cost
from vizkit.analysis.attention.positions import by_distance, similarity
from vizkit.analysis.attention.statistics import Layer
from vizkit.analysis.attribution.smallest_set import Search
from vizkit.analysis.comparison.seed_interval import Estimate
from vizkit.analysis.detection.instances import Own
from vizkit.analysis.remarks import (
    answers,
    attention,
    compute,
    convolution,
    data_set,
    data_size,
    detection,
    distillation,
    evaluation,
    features,
    interventions,
    maps,
    patches,
    places,
    positions,
    remark,
    sequences,
    super_resolution,
    swin,
)
from vizkit.analysis.sequences.masks import Masked
from vizkit.analysis.swin.shifted_windows import cut, layout
from vizkit.analysis.trust.deletion import Erased
from vizkit.evaluation.scenes.boxes import KINDS
from vizkit.geometry import all_ids
from vizkit.heads import LIKENESS, SOFTMAX
from vizkit.percent import in_percent
from vizkit.traces import Attention, Check, Tokens, Trace

COUNTS = (1, 2, 8, 11, 18, 80)
SHARES = (0.0, 0.002, 0.03, 0.3, 0.8, 0.998, 1.0)
LABELS = ("ant", "bee", "wasp")

THINGS = (
    "images|pictures|patches|heads|layers|blocks|tokens|pixels|places|models|components|words|pairs|channels|changes|"
    "boxes|insects|rows|seeds|digits|classes|queries|keys|neighbours"
)
FAULTS = {
    "a limit of a limit": r"(?i)\b(only|at least|at most|up to|below|above|about|nearly) (less|more) than",
    "a or an": r"\b[Aa] (8|11|18|8\d|8,\d+)\b|\b[Aa]n (?!8|11\b|18\b)\d|\b[Aa]n? (an?|the)\b",
    "one of many": rf"(?<![\d.,])(?<!× )1 (\w+ )?({THINGS})\b|\bof (the )?1 (\w+ )?({THINGS})\b",
    "one are": r"(?<![\d.,])1 (of [\d,]+ )?(other )?\w+ (\([^)]*\) )?(are|have|make|say|show|lie|keep)\b",
    "many is": rf"(?<!\b1 of )(?<!all )\b(?:[2-9]|[1-9][\d,]+) ({THINGS}) (knows|says|is|has|gives|lies|keeps|makes)\b",
    "models knows": r"\bmodels (knows|says|keeps|gives)\b",
    "spaces": r"  | [,.;:!?]|^ | $",
    "full stops": r"\.\.|,,|;;|[,;:]\.|[^.]$",
    "a small letter first": r"^(less|more|none|all|both|the|no|not|in|with|at|from|of|after|only)\b",
    "not a number": r"(?i)\b(nan|inf|none|true|false)\b(?! of)|[{}]|\de[+-]\d|−0\b(?!\.)|−0\.0+\b",
    "a hyphen for a minus": r"(?<![\w–])-\d",
}


def fault_of(said):
    """The first fault of a sentence and where; "" for none."""
    found = ((name, re.search(pattern, said)) for name, pattern in FAULTS.items())
    return next((f"{name}, “{at.group()}”: {said}" for name, at in found if at), "")


@pytest.mark.parametrize(
    "said, fault",
    [
        ("Only less than 1 % of it lies on the insect.", "a limit of a limit"),
        ("On a 8 × 8 grid.", "a or an"),
        ("On an 12 × 12 grid.", "a or an"),
        ("It differs on 1 images.", "one of many"),
        ("It differs on 1 of 1 images.", "one of many"),
        ("1 other place are alike.", "one are"),
        ("3 models knows 12 insects.", "many is"),
        ("All models knows it.", "models knows"),
        ("It falls  by much.", "spaces"),
        ("It falls", "full stops"),
        ("less than 1 % lies there.", "a small letter first"),
        ("The mean is nan.", "not a number"),
        ("It is -3 points.", "a hyphen for a minus"),
    ],
)
def test_a_fault_is_found(said, fault):
    assert fault_of(said).startswith(fault)


def test_what_is_right_is_none():
    for said in (
        "1 of 24 heads is idle.",
        "An 8 × 8 grid.",
        "A 12 × 12 grid.",
        "11 images are left.",
        "0.1 pixels far.",
        "Less than 1 % lies there.",
        "A point-wise layer, −3 points.",
    ):
        assert fault_of(said) == ""


# ---- what rules are given --------------------------------------------------------------------------------------------
def row_of(share, count):
    """A share in the first place, the rest evenly in the others."""
    row = torch.full((count,), (1 - share) / max(count - 1, 1))
    row[0] = share if count > 1 else 1.0
    return row


def recorded(share, special=(), heads=1):
    """36 patches, every query with a share on the first token."""
    tokens = Tokens("patches", special, (6, 6), stride=8.0)
    row = row_of(share, len(tokens))
    return Attention(
        "layer",
        row.expand(1, heads, len(tokens), len(tokens)),
        tokens,
        tokens,
        all_ids(len(tokens)),
        all_ids(len(tokens)),
    )


def trace_of(*layers):
    return Trace("toy", (48, 48), torch.zeros(2), layers, (), Check(0.0, len(layers), len(layers), 0.0))


def covering(share):
    """A drawn insect in the first places of 6 × 6."""
    cover = torch.zeros(36)
    cover[: max(1, round(share * 36))] = 1.0 if share else 0.01
    return cover.view(6, 6)


def in_windows(share):
    windows, tokens = layout((4, 4), (2, 2), (1, 1)), Tokens("grid", (), (4, 4), stride=8.0)
    ids = cut(windows.ids, windows.window)
    weights = torch.eye(4) * (1 - share) + torch.full((4, 4), share / 4)
    return Attention("windows", weights.expand(4, 1, 4, 4), tokens, tokens, ids, ids), windows


def beside(answer):
    """Logits of three classes, the first with about this probability."""
    return torch.tensor([answer, (1 - answer) * 2 / 3, (1 - answer) / 3]).clamp(1e-6).log()


def statistics(near, far):
    ones = torch.ones(2)
    return Layer("layer", torch.tensor([near, far]), ones, ones, {}, 0 * ones, ones, torch.tensor([0.0, 0.1]))


def found():
    for count, things in product((0, 1, 2, 8), (None, 0, 1, 8)):
        for right in range(min(count, things or 0) + 1):
            yield from (detection.Boxes(count, doubles, right, things) for doubles in {0, *range(1, count - right + 1)})


def estimates():
    return (Estimate(mean, half, seeds) for mean, half, seeds in product((-0.2, -0.0004, 0.0, 0.1), (0.0, 0.3), (1, 3)))


# ---- every rule ------------------------------------------------------------------------------------------------------
HEADS = (SOFTMAX, LIKENESS)
EVERY = {
    answers.after_change: lambda: (
        answers.after_change(beside(p).exp(), beside(q).exp(), LABELS, "Without the shift")
        for p, q in product(SHARES, SHARES)
    ),
    answers.along: lambda: (
        answers.along([0.0, 0.05, 0.5, 1.0], torch.tensor([[p, 1 - p, 0.0], [p, 1 - p, 0.0], *rest]), LABELS, "α")
        for p in SHARES
        for rest in ([[p, 1 - p, 0.0]] * 2, [[0.1, 0.2, 0.7]] * 2, [[0.1, 0.9, 0.0], [0.6, 0.4, 0.0]])
    ),
    answers.agreement: lambda: (
        answers.agreement([("ant", {f"model {i}": LABELS[i % kinds] for i in range(models)})] * images)
        for kinds, models, images in product((1, 2, 3), (1, 2, 3), COUNTS)
    ),
    answers.right_on: lambda: (
        answers.right_on(
            [
                ("ant", {f"model {i}": "ant" if i or at >= wrong else "bee" for i in range(models)})
                for at in range(images)
            ],
            noun,
        )
        for models, images, wrong, noun in product((1, 2, 3), COUNTS, (0, 1, 2, 80), ("image", "labelled image"))
    ),
    answers.withstood: lambda: (
        answers.withstood({f"model {i}": {"Blur": p, "Noise": q} for i in range(models)})
        for models, p, q in product((1, 2, 3), SHARES, SHARES)
    ),
    answers.stayed_alike: lambda: (
        answers.stayed_alike({f"model {i}": {"Blur": p, "Noise": q} for i in range(models)})
        for models, p, q in product((1, 2, 3), SHARES, SHARES)
    ),
    attention.of_map: lambda: (
        attention.of_map(recorded(p, special, heads), query, 8, head, cover)
        for p, special, heads, query, head, cover in product(
            SHARES,
            ((), ("cls",), ("reg1",)),
            (1, 2),
            ((0.1, 0.1), (0.9, 0.5)),
            (None, 0),
            (None, covering(0.0), covering(0.2), covering(0.9)),
        )
    ),
    attention.of_head: lambda: (
        attention.of_head(recorded(p, special, heads), 11, head)
        for p, special, heads, head in product(SHARES, ((), ("cls",)), (1, 2), (None, 0))
    ),
    attention.with_depth: lambda: (
        attention.with_depth(trace_of(recorded(p), recorded(q)), (0.1, 0.1)) for p, q in product(SHARES, SHARES)
    ),
    attention.evenness: lambda: (
        attention.evenness(torch.tensor([[p, q], [torch.nan, q]]), number, 0)
        for p, q, number in product(SHARES, SHARES, (1, 2))
    ),
    attention.extremes: lambda: (
        attention.extremes((statistics(near, far), statistics(far, far)))
        for near, far in product((0.4, 1.0, 8.0), (1.0, 11.0, 80.0))
    ),
    attention.evenest: lambda: (
        attention.evenest((replace(statistics(1.0, 2.0), entropy=torch.tensor([p, q])),))
        for p, q in product(SHARES, SHARES)
    ),
    attention.most_given: lambda: (
        attention.most_given([torch.tensor([p, q]), torch.tensor([q])], "the class token")
        for p, q in product(SHARES, SHARES)
    ),
    attention.most_alike: lambda: (
        attention.most_alike(trace_of(recorded(p, heads=heads))) for p, heads in product(SHARES, (1, 2))
    ),
    attention.between_words: lambda: (
        attention.between_words(np.array([row_of(p, 4).numpy()] * 4), trained)
        for p in SHARES
        for trained in (True, False)
    ),
    compute.gathers: lambda: (
        compute.gathers(
            "ViT", {"block 1": row_of(p, 36).view(6, 6).numpy(), "block 2": row_of(q, 36).view(6, 6).numpy()}
        )
        for p, q in product(SHARES, SHARES)
    ),
    compute.strongest: lambda: (
        compute.strongest("CNN", {"block 1": row_of(p, 36).view(6, 6).numpy(), "block 2": np.ones((1, 2))})
        for p in SHARES
    ),
    compute.lost: lambda: (
        compute.lost((count, 0.8), (max(count // 2, 1), share), part)
        for count, share, part in product(COUNTS, SHARES, (None, ("case", 0.998, 0.002), ("tails", 1.0, 0.3)))
    ),
    compute.adds: lambda: (
        compute.adds(*(torch.full((3, 4), p) for p in sizes), 8) for sizes in product((0.1, 1.0, 8.0), repeat=3)
    ),
    compute.saved: lambda: (
        compute.saved(own, other, "multiply–adds", "the plain ViT")
        for own, other in product((0, 1, 500, 970, 1100, 9000), (1, 1000))
    ),
    compute.worth: lambda: (
        compute.worth(
            {"a": cost, "b": 7, "c": 3}, dict(zip("abc"[:models], (p, q, 0.5), strict=False)), "multiply–adds"
        )
        for models, cost, p, q in product((1, 2, 3), COUNTS, SHARES, SHARES)
    ),
    compute.narrows: lambda: (
        compute.narrows({"ViT": ((7, 7), last), "Swin": ((14, 14), (7, 7))}) for last in ((7, 7), (1, 1))
    ),
    compute.most_and_least: lambda: (
        compute.most_and_least(dict(zip(LABELS, counts, strict=True)), "multiply–adds")
        for counts in ((1, 2, 3), (10, 1000, 80), (5, 5, 5))
    ),
    convolution.strongest: lambda: (
        convolution.strongest(torch.linspace(low, high, 12).view(3, 4) ** 3, "convolution")
        for low, high in ((-3.0, 0.5), (0.0, 1.0), (-0.001, 2.0))
    ),
    convolution.contrast: lambda: (
        convolution.contrast(torch.rand(3, 4, 4), factor * torch.rand(4, 4)) for factor in (0.01, 1.0, 30.0)
    ),
    convolution.seen: lambda: (
        convolution.seen({f"model {i}": (f"block {i + 1} of 12", share) for i in range(models)})
        for models, share in product((1, 2, 3), SHARES)
    ),
    features.of_colours: lambda: (
        features.of_colours(share, 256 * images, "block 1 of 12", images, share, on_insect)
        for share, images, on_insect in product(SHARES, (1, 2, 3), (None, *SHARES))
    ),
    features.of_first: lambda: (features.of_first(own, whole) for own, whole in product(SHARES, SHARES)),
    features.of_others: lambda: (features.of_others(back, 0.1) for back in SHARES),
    features.of_basis: lambda: (
        features.of_basis("what [cls] attends to in the last layer", left_out, clipped, 2048)
        for left_out, clipped in product((0, *COUNTS), (0, *COUNTS))
    ),
    features.of_artifacts: lambda: (
        features.of_artifacts(counts, 1, 9.41, 324, neuron)
        for counts in ([0, 0, 0], [0, 1, 0], [0, 2, 3], [1, 2, 0, 4])
        for neuron in (None, (1, 16, 30.2, 0.0))
    ),
    features.of_register: lambda: (
        features.of_register(count, 5, [9.4, 1.6], left, [0.3, 0.02]) for count in (1, 10) for left in ([1, 0], [3, 1])
    ),
    features.of_object: lambda: (
        features.of_object("TokenCut", share, scored, 0.13, 0.08, {"LOST": agreed, "k-means": share})
        for share, agreed in product(SHARES, SHARES)
        for scored in (None, {"TokenCut": 0.6, "LOST": 0.4}, {"TokenCut": 0.4, "LOST": 0.6, "k-means": 0.6})
    ),
    evaluation.learned: lambda: (
        evaluation.learned(steps, [right] * len(steps), 8, [share] * len(steps), called, 0.1)
        for steps, right, share, called in product(([1], [1, 512]), (0, *COUNTS), (None, *SHARES), ("", "insect"))
    ),
    features.of_labels: lambda: (
        features.of_labels(painted, [(f"image {at}", things) for at in range(images)], on_insects)
        for painted, things in (({}, [0, 0]), ({0: 1}, [1, 1]), ({0: 1, 1: 2}, [1, 2, 2]), ({0: 1, 1: 2, 2: 3}, [1, 2]))
        for images, on_insects in product(COUNTS, (None, (1, 1, 0.5, 0.4), (2, 390, 0.8, 0.4)))
    ),
    features.of_matches: lambda: (
        features.of_matches(right, swapped, 324, 0.1) for right, swapped in product(SHARES, SHARES)
    ),
    features.of_parts: lambda: (
        features.of_parts((right, right / 2, (1 + right) / 2), asked, 0.1, [f"image {i}" for i in range(images)])
        for right, asked, images in product(SHARES, COUNTS, (1, 2, 3))
    ),
    convolution.vanished: lambda: (
        convolution.vanished({name: np.array([first, 1.0]) for name, first in zip(LABELS, firsts, strict=False)})
        for firsts in ((1.0,), (1e-9, 0.5), (2.0, 2000.0, 1e-3))
    ),
    convolution.deeper: lambda: (
        convolution.deeper((2, 8, depth), np.array([1.0, 0.7, p]), np.array([1.0, 1.0, q]))
        for depth, p, q in product((11, 80), (0.001, 0.5, 1.0), (0.001, 1.0, 2.0))
    ),
    convolution.alone: lambda: (
        convolution.alone({"BatchNorm": (0.5, many), "LayerNorm": (-0.2, -0.2), "GroupNorm": (0.1, 0.1)}, count)
        for many, count in product((-0.001, 0.5, 1.5), COUNTS)
    ),
    convolution.negative: lambda: (
        convolution.negative([(name, p), *[("GELU", q)] * more])
        for name, p, q, more in product(("ReLU", "GELU"), SHARES, SHARES, (0, 1))
    ),
    convolution.made_of: lambda: (
        convolution.made_of(range(count), [sign * (at + 1.0) for at in range(count)], 0.5)
        for count, sign in product(COUNTS, (-1, 1))
    ),
    convolution.moved: lambda: (
        convolution.moved(
            (-px, 0, px),
            answers,
            {name: np.array([p, 1, p]) for name in answers},
            px,
            dict.fromkeys(answers, ("probability", "{:.2f}".format)),
        )
        for px, p, answers in product(
            (1, 8),
            SHARES,
            (
                {"CNN": ["ant", "ant", "bee"], "ViT": ["ant"] * 3, "Swin": ["ant"] * 3},
                {"CNN": ["bee", "ant", "ant"], "ViT": ["ant"] * 3},
                {"CNN": ["ant"] * 3, "ViT": ["ant"] * 3},
                {"CNN": ["ant"] * 3},
            ),
        )
    ),
    convolution.reached: lambda: (
        convolution.reached({"CNN": ("stage", whole, count, share), "ViT": ("layer", 1, 1, 1.0)})
        for whole, count, share in product((None, 1, 2), (1, 2, 8), SHARES)
    ),
    convolution.robust: lambda: (
        convolution.robust(
            {
                name: ((0, 1, 8), [0.9, one, other * one], [0.1] * 3)
                for name, one in zip(LABELS, (0.9, 0.5, 0.88), strict=True)
            }
        )
        for other in (0.1, 1.0)
    ),
    convolution.field_used: lambda: (
        convolution.field_used("stage 2", seen, used, 224, held)
        for seen, used, held in product((8, 11, 500), (1.0, 8.0, 100.0, 223.6), SHARES[2:])
    ),
    data_size.worth: lambda: (
        data_size.worth("dual-scale", "the plain ViT", cost, Estimate(gain, half, seeds))
        for cost in (0.002, 0.6, 1.0, 1.7)
        for gain in (-0.3, 0.0, 0.04)
        for half in (0.001, 0.05)
        for seeds in (1, 3)
    ),
    data_size.lead: lambda: (
        data_size.lead(images, "CNN", "MLP", p, gain) for images, p, gain in product((300, 12_000), SHARES, estimates())
    ),
    data_size.helps: lambda: (
        data_size.helps("hard teacher", {300: one, 1_000: other}) for one, other in product(estimates(), estimates())
    ),
    detection.of_found: lambda: (detection.of_found(boxes, p, "scene 6") for boxes, p in product(found(), SHARES)),
    detection.of_own: lambda: (detection.of_own("ant", p, Own(p, q, 1.0)) for p, q in product(SHARES, (None, *SHARES))),
    detection.of_place: lambda: (
        detection.of_place("ant", Own(p, q, 1.0)) for p, q in product(SHARES, (None, *SHARES))
    ),
    detection.of_doubles: lambda: (
        detection.of_doubles(layer, boxes, boxes, "scene 6") for layer, boxes in product((1, 8), found())
    ),
    detection.of_places: lambda: (
        detection.of_places([Own(p, q, 1.0)] * count) for p, q, count in product(SHARES, (None, *SHARES), COUNTS)
    ),
    detection.of_strongest: lambda: (
        detection.of_strongest(place, torch.tensor([[p, 0.0], [0.0, q]]))
        for place, p, q in product((0, 3), SHARES, SHARES)
    ),
    detection.called: lambda: (f"A {name}." for name in detection.called([LABELS[0]] * 2, [0.5, 0.2])),
    detection.of_inside: lambda: (detection.of_inside(Own(p, None, q)) for p, q in product(SHARES, SHARES)),
    detection.of_cost: lambda: (detection.of_cost(3, "1 leech", p, q, p) for p, q in product(SHARES, SHARES)),
    detection.of_matching: lambda: (
        detection.of_matching("scene 6", things, p, q, same=same, differ=[("1 leech", (3, p), (4, q))] * things)
        for things, p, q, same in product((0, 1, 2, 8), SHARES, SHARES, (False, True))
    ),
    detection.of_another: lambda: (detection.of_another(3, "1 leech", p, 4, q) for p, q in product(SHARES, SHARES)),
    detection.of_masks: lambda: (
        detection.of_masks(things, found, p) for things, found, p in product((0, 1, 2), (0, 1, 2), SHARES)
    ),
    detection.of_habits: lambda: (detection.of_habits(p, count) for p, count in product((math.nan, *SHARES), (1, 100))),
    detection.of_habit: lambda: (detection.of_habit(3, LABELS[:count]) for count in range(3)),
    detection.of_trail: lambda: (detection.of_trail(3, "ant", list(pair)) for pair in product(SHARES, SHARES)),
    detection.of_missed: lambda: (
        detection.of_missed(LABELS[0], 3, said, p, q, r, 0.5)
        for said, p, q, r in product(LABELS[:2], SHARES, SHARES, SHARES)
    ),
    detection.of_too_many: lambda: (
        detection.of_too_many(LABELS[0], 3, name, matched, p)
        for name, matched, p in product(("", *LABELS[:2]), (3, 4), SHARES)
    ),
    distillation.softened: lambda: (
        distillation.softened(beside(p), t, LABELS) for p, t in product(SHARES, (0.5, 1.0, 8.0, 11.0))
    ),
    distillation.beside_teacher: lambda: (
        distillation.beside_teacher([p] * count, t, "ant", dict(zip(LABELS, (p, q, q)[: count + 1], strict=False)), 12)
        for p, q, t, count in product(SHARES, SHARES, (1.0, 8.0), (1, 2))
    ),
    distillation.overlapping: lambda: (distillation.overlapping(pair) for pair in product(SHARES, SHARES)),
    distillation.worth: lambda: (distillation.worth(dict.fromkeys(LABELS, p), 81.8) for p in (75.8, 81.8)),
    distillation.answered: lambda: (
        distillation.answered(dict(zip(("the teacher", "DeiT"), pair, strict=True)), right)
        for pair, right in product(product(LABELS[:2], LABELS[:2]), ("", *LABELS[:2]))
    ),
    data_set.on_the_map: lambda: (
        data_set.on_the_map("ViT · digits", right, known, purity, 0.08, "features", surest=(12, "bee", same, marked))
        for known, same in product((0, *COUNTS), (1, 8, 12))
        for right in {0, 1, known}
        for purity in SHARES
        for marked in {0, 1, same}
        if right <= known
    ),
    data_set.drawn: lambda: (data_set.drawn(count) for count in COUNTS if count),
    data_set.unsure: lambda: (data_set.unsure(count, false) for count, false in product(COUNTS, (0, 1, 7))),
    data_set.counted_right: lambda: (
        data_set.counted_right(count, count, planted, (learned, learned))
        for count, planted, learned in product(COUNTS, (0, 1, 30), (0, 1))
    ),
    data_set.chosen: lambda: (
        data_set.chosen(wrong, count, [LABELS[:2]] * wrong) for count in COUNTS for wrong in {0, 1, count}
    ),
    data_set.suspected: lambda: (
        data_set.suspected(count, suspect, {"wrong labels": suspect, "near copies": copies})
        for count, copies in product(COUNTS, (0, 1, 3))
        for suspect in {0, 1, count}
    ),
    data_set.mended: lambda: (data_set.mended(labels, left) for labels, left in product(COUNTS, (0, 1, 30))),
    data_set.shared_mark: lambda: (
        data_set.shared_mark(marked, shown) for shown in (1, 2, 6) for marked in {0, 1, shown}
    ),
    data_set.ceiling: lambda: (data_set.ceiling(wrong, 300) for wrong in (1, 2, 30, 299)),
    data_set.probed: lambda: (
        data_set.probed(knn, linear, own, 0.08, count)
        for knn, linear, count in product(SHARES, SHARES, COUNTS)
        for own in (None, (0.5, 0.4, 0.6))
    ),
    data_set.taught: lambda: (
        data_set.taught("ant", "bee", most, same, shown)
        for shown in (0, 1, 2, 6)
        for same in {0, min(1, shown), shown}
        for most in LABELS[1:]
    ),
    data_set.planted: lambda: (
        data_set.planted((there, found, others), (1, 0, others))
        for there in COUNTS
        for found in {0, 1, there}
        for others in (0, 1, 7)
    ),
    data_set.marked: lambda: (
        data_set.marked("ant", count, 80, (count, 0), dict(zip("bc", others, strict=False)))
        for count, others in product(COUNTS, ((), (1,), (2, 1)))
        if 0 < count < 80
    ),
    data_set.mean_images: lambda: (
        data_set.mean_images(members, own, "in the middle") for members in COUNTS if members for own in (True, False)
    ),
    data_set.shortcut: lambda: (
        data_set.shortcut("ant", (members, 80, alike, 300), "in the middle", score, accuracies, effect)
        for members, alike in product(COUNTS, (0, 1, 300))
        for score in (1.0, 9.0)
        for accuracies in (None, *((p, q, p) for p, q in product(SHARES, SHARES)))
        for effect in ("falls", "rises", "")
    ),
    evaluation.absent: lambda: (
        evaluation.absent(list("abc")[:untested], list("def")[:features], alone)
        for untested, features, alone in product(range(4), range(4), (True, False))
        if untested + features
    ),
    evaluation.ahead: lambda: (
        evaluation.ahead([train] * count, [val] * count, harder, images)
        for train, val in product(SHARES, SHARES)
        for count in (1, 3, 8)
        for harder in ((), ("are turned",), ("are turned", "are mixed", "lose a rectangle"))
        for images in (None, (8, 8), (10_000, 2000))
    ),
    evaluation.around: lambda: (
        evaluation.around(
            "my run", np.array([[p, q, p], [q, r, p], [p, p, q]]), np.arange(-1.0, 2.0), np.arange(-1.0, 2.0), 200
        )
        for p, q, r in product((0.0, 0.02, 1.5, 30.0), repeat=3)
    ),
    evaluation.on_the_path: lambda: (
        evaluation.on_the_path("my run", 14, 1.0, lowest, np.array([p, 1 - p]), np.array([q, 1 - q]))
        for lowest, p, q in product((1.0, 0.5), SHARES, SHARES)
    ),
    evaluation.best_run: lambda: (
        evaluation.best_run({"ViT · insects": (one, 2000, "3 s"), "CNN": (other, 2000, "1 h 2 min")}, differ)
        for one, other, differ in product(SHARES, SHARES, ((), LABELS[:2], LABELS * 2))
    ),
    evaluation.heads_over_steps: lambda: (
        evaluation.heads_over_steps("attention distance", " px", [1, 990], np.array([[[p, q]], [[q, r]]]), 1)
        for p, q, r in product((0.0, 0.02, 16.5, np.nan), repeat=3)
    ),
    evaluation.near_alike: lambda: (
        evaluation.near_alike([1, 990], np.array([p, sign * q])) for p, q, sign in product(SHARES, SHARES, (1, -1))
    ),
    evaluation.settling: lambda: (
        evaluation.settling([1, 8, 990], np.array([[p, q], [q, p], [1.0, 1.0]])) for p, q in product(SHARES, SHARES)
    ),
    evaluation.on_the_object: lambda: (
        evaluation.on_the_object([1, 990], np.array([[p, q], [q, np.nan]]), "insect", area)
        for p, q, area in product(SHARES, SHARES, SHARES[1:])
    ),
    evaluation.norms_over_steps: lambda: (
        evaluation.norms_over_steps(
            "the weights", [1, 8, 990], np.array([[p, q], [q, q], [1.0, p]]), ["input", "layer 1"]
        )
        for p, q in product(SHARES, SHARES)
    ),
    evaluation.filters_over_steps: lambda: (
        evaluation.filters_over_steps([1, 990], np.array([[start] * count, [end] * count]).reshape(2, count, 1, 1, 1))
        for count, start, end in product((1, 16), (0.0, 1.0), (-1.0, 0.03, 0.5))
    ),
    evaluation.learned_when: lambda: (
        evaluation.learned_when([1, 8, 990], np.array(rows, dtype=float).T)
        for rows in product(product((0, 1), repeat=3), repeat=2)
    ),
    evaluation.most_frequent_mistake: lambda: (
        evaluation.most_frequent_mistake(np.array([[right, wrong], [0, 5]]), LABELS[:2], LABELS[:2])
        for right, wrong in product((0, 1, 998), (0, 1, 2, 8))
    ),
    evaluation.leader: lambda: (
        evaluation.leader(dict(zip(LABELS[:count], (best, *others), strict=False)), 12, LABELS[1:apart])
        for count, best, others, apart in product((1, 2, 3), (12, 7, 1), ((1, 0), (1, 1)), (1, 2, 3))
    ),
    evaluation.calibrated: lambda: (
        evaluation.calibrated("ant", {"ant": one, "bee": other}, way * one)
        for one, other, way in product(SHARES, SHARES, (-1, 0.5, 1))
    ),
    evaluation.placed: lambda: (
        evaluation.placed("mine", right, 359, LABELS[:better], LABELS[better : better + worse])
        for right, better, worse in product((0, 1, 358, 359), (0, 1, 2), (0, 1))
    ),
    evaluation.detector: lambda: (
        evaluation.detector("DETR", ap, right, scenes, {kind: count, "right": 0})
        for right, scenes in ((0, 1), (1, 1), (0, 8), (1, 8), (8, 8), (998, 1000))
        for ap in (0.637, float("nan"))
        for kind, count in product((*KINDS[1:], "missed"), (0, 1, 2, 1200))
    ),
    evaluation.texts: lambda: (
        evaluation.texts("RNN", right, count, share)
        for right, count in ((0, 1), (1, 1), (0, 8), (1, 8), (8, 8), (21, 2000))
        for share in SHARES
    ),
    evaluation.accuracy_for_cost: lambda: (
        evaluation.accuracy_for_cost(
            [(name, cost, 80.5) for name, cost in zip(LABELS, costs, strict=False)], "GFLOPS", "AP (%)"
        )
        for costs in ((1.0,), (1.0, 2.0), (4.0, 1.0, 2.0), (1.0, 1.0))
    ),
    attention.clearest: lambda: (
        attention.clearest(torch.full((10, 10), 0.01), [torch.eye(10)[None] / 10] * layers, None) for layers in (1, 2)
    ),
    interventions.of_overlap: lambda: (interventions.of_overlap("Where head 1 looks", share) for share in SHARES),
    interventions.of_answers: lambda: (
        interventions.of_answers(LABELS, beside(p).exp().tolist(), beside(q).exp().tolist(), changes, head)
        for p, q, changes, head in product(SHARES, SHARES, ("", "1 patch hidden", "3 heads off"), HEADS)
    ),
    interventions.of_smallest: lambda: (
        interventions.of_smallest(
            Search(goal, tuple(range(taken)), (0.5, *[p] * taken), reached, parts, 1), "patches", "ant", head
        )
        for goal, taken, p, reached, parts, head in product(
            ("keep", "flip"), (0, 1, 2, 8), SHARES, (True, False), (8, 196), HEADS
        )
    ),
    interventions.of_deciding: lambda: (
        interventions.of_deciding({name: (mean, 0.1) for name, mean in zip(LABELS, means, strict=False)})
        for means in ((1.0,), (0.0,), (1.0, 0.0), (0.0, 0.05, -1.0), (1.0, 2.0, 3.0))
    ),
    interventions.of_heads: lambda: (
        interventions.of_heads([(0, at) for at in range(count)], [0.5] * count, [half] * count, correlation)
        for count, half, correlation in product(COUNTS[1:], (0.1, 0.9), (math.nan, 0.5, 1.0))
    ),
    interventions.of_lens: lambda: (
        interventions.of_lens("ant", said, 0, [p] * len(said), "the class token")
        for said, p in product(([0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]), SHARES)
    ),
    interventions.of_lens_value: lambda: (
        interventions.of_lens_value("likeness", values, "the class token", LIKENESS)
        for values in ((0.1, 0.2, 1.0), (0.1, 0.9, 1.0), (1.0, 1.0), (1.0, 0.1))
    ),
    interventions.of_likest: lambda: (
        interventions.of_likest("likeness", torch.tensor([values]), 8, LIKENESS) for values in ((0.1, 0.9), (0.0, 0.0))
    ),
    interventions.of_strongest: lambda: (
        interventions.of_strongest([("feature 7", most), *[("feature 8", 1)] * others], 8)
        for most, others in product(COUNTS[1:], (0, 1, 5))
    ),
    interventions.of_patches: lambda: (
        interventions.of_patches("ant", saying, 196, 8, others)
        for saying, others in product((0, *COUNTS), ([], [("bee", 1)], [("bee", 11)]))
    ),
    interventions.of_contributions: lambda: (
        interventions.of_contributions(
            "ant", sign * torch.arange(4.0).view(2, 2), torch.ones(2), torch.tensor([0.1, -0.001]), 2.0, before
        )
        for sign, before in product((-1, 1), (0, 7))
    ),
    interventions.of_patching: lambda: (
        interventions.of_patching("ant", p, q, torch.tensor([[[q, p]]]), torch.tensor([[p]]), ("cls",), head)
        for p, q, head in product(SHARES, SHARES, HEADS)
    ),
    interventions.of_steering: lambda: (
        interventions.of_steering(LABELS, (0.0, 1.0, 8.0), torch.stack([*map(beside, each)]).exp(), "bee", head)
        for each, head in product(product((0.1, 0.998), repeat=3), HEADS)
    ),
    interventions.of_behaviour: lambda: (
        interventions.of_behaviour("attention to itself", [(0, 0), (7, 10)], values, importance)
        for values, importance in product(
            ([0.1, 0.2], [math.nan, 0.2], [math.nan] * 2), (None, math.nan, -0.7, 0.3, 0.0)
        )
    ),
    interventions.of_pruning: lambda: (
        interventions.of_pruning(heads, {"measured": can, "estimate": can, "random": 0}, p)
        for heads, can, p in product((8, 24), (0, 1, 8), SHARES)
    ),
    interventions.of_alignment: lambda: (
        interventions.of_alignment(np.full((count, count), p), "ViT", other)
        for count, p, other in product((1, 2, 8), SHARES, ("", "Swin"))
    ),
    maps.best_map: lambda: (
        maps.best_map(dict(zip(LABELS, gains, strict=False)), 0.05) for gains in product((0.3, 0.0), repeat=3)
    ),
    maps.of_models: lambda: (
        maps.of_models(dict(zip(LABELS, several, strict=False)), "on the insect, which covers 6 % of the image", images)
        for several, images in product(product(SHARES, SHARES, SHARES), (1, 8))
    ),
    maps.nearly_even: lambda: (
        maps.nearly_even(torch.tensor([[1.0, share]]), label, why)
        for share, label, why in product(SHARES, LABELS, ("", "It is a mean of all heads."))
    ),
    maps.without_brightest: lambda: (
        f"{remark.begun(maps.without_brightest(Erased(0.1, *three), head))}."
        for three, head in product(product(SHARES, SHARES, SHARES), (SOFTMAX, LIKENESS))
    ),
    sequences.rows: lambda: (
        sequences.rows(Masked(torch.eye(count), torch.eye(count), torch.full((count,), p)))
        for count, p in product(COUNTS, SHARES)
    ),
    sequences.guessed: lambda: (
        sequences.guessed(["ant"] * count, ["ant" if at < right else "bee" for at in range(count)], [p] * count)
        for count, right, p in product((0, 1, 2, 8), (0, 1, 2), SHARES)
    ),
    sequences.strongest: lambda: (
        sequences.strongest(torch.tensor([[p, (1 - p) / 2]]), ["ant"], ["bee", "fly"]) for p in SHARES
    ),
    sequences.certain: lambda: (
        sequences.certain("ant", p, "bee", right) for p, right in product(SHARES, ("", "ant", "bee"))
    ),
    patches.sequence: lambda: (
        patches.sequence(grid, special, 96, costs)
        for grid, special, costs in product(
            ((1, 1), (8, 14)),
            ([], ["[cls]"], ["[cls]", "[dist]"]),
            (None, (cost((8, 8), 8, 96), cost((64, 64), 8, 96))),
        )
    ),
    patches.beside_object: lambda: (
        patches.beside_object(row_of(p, 36), covering(area).flatten(), 8, "block 8 of 11")
        for p, area in product(SHARES, SHARES)
    ),
    patches.alike: lambda: (
        patches.alike(torch.tensor([1.0] * alike + [0.1] * others), "block 8 of 11", at_first=first)
        for alike, others, first in product((0, *COUNTS), (0, 1, 8), (None, (0, "block 1"), (8, "block 1")))
    ),
    places.on_object: lambda: (
        places.on_object(row_of(p, 36).view(6, 6), covering(area), "the map") for p, area in product(SHARES, SHARES)
    ),
    places.lies_on: lambda: (places.lies_on(share, area, "the map") for share, area in product(SHARES, SHARES)),
    places.concentrated: lambda: (
        places.concentrated(row_of(p, count * 4).view(count, 4), "the map") for p, count in product(SHARES, COUNTS)
    ),
    places.spread: lambda: (
        places.spread(row_of(p, count * 4).view(count, 4), "the map") for p, count in product(SHARES, COUNTS)
    ),
    places.swallowed: lambda: (
        places.swallowed(row_of(p, 36).view(6, 6), "the map", 1, 6, (1, 2), share)
        for p, share in product(SHARES, SHARES)
    ),
    places.where: lambda: (
        places.where(row_of(p, 36).view(6, 6), cover, "the map") for p, cover in product(SHARES, (None, covering(0.1)))
    ),
    places.from_layer_on: lambda: (
        places.from_layer_on([p, q, r], area, "the class token")
        for p, q, r, area in product(SHARES, SHARES, SHARES, SHARES[1:])
    ),
    positions.told_apart: lambda: (
        positions.told_apart(torch.linspace(0 if shares else -p, p, side * side).view(side, side), cell, shares=shares)
        for p, side, cell, shares in product(SHARES, (2, 3, 14), ((0, 0), (1, 1)), (False, True))
    ),
    positions.fading: lambda: (
        positions.fading(by_distance(similarity(torch.rand(count, 4) - p), (count,)), shares=shares)
        for p, count, shares in product(SHARES, (1, 2, 9), (False, True))
    ),
    positions.shuffled: lambda: (
        positions.shuffled(
            positions.Answers(beside(0.8), beside(p)),
            positions.Answers(beside(0.8), beside(q)),
            lambda logits: f"“{LABELS[int(logits.argmax())]}” ({in_percent(float(logits.softmax(0).max()))})",
            truth,
        )
        for p, q, truth in product(SHARES, SHARES, ("", "ant", "bee"))
    ),
    positions.shuffled_value: lambda: (
        positions.shuffled_value("likeness", ("1.000", "0.812"), ("0.798", then), when=when)
        for then, when in product(("0.798", "0.700"), (positions.WHEN, "1 patch stands at another place"))
    ),
    positions.over_pictures: lambda: (
        positions.over_pictures(
            [positions.Answers(beside(0.8), beside(p))] * count, [positions.Answers(beside(0.8), beside(q))] * count
        )
        for p, q, count in product((0.1, 0.9), (0.1, 0.9), COUNTS)
    ),
    positions.cross: lambda: (
        positions.cross(
            torch.cat([a * torch.eye(rows)[:, None].expand(-1, 4, -1), b * torch.eye(4).expand(rows, -1, -1)], -1)
        )
        for a, b, rows in product((0.0, 0.01, 1.0), (0.01, 1.0), (3, 8))
    ),
    positions.bias: lambda: (
        positions.bias(sign * torch.stack([hill() if head < near else torch.zeros(5, 5) for head in range(heads)]))
        for sign, heads, near in product((-1, 1), (1, 2, 8), (0, 1, 2))
    ),
    positions.saturation: lambda: (positions.saturation(16 * row_of(p, 9).view(1, 3, 3)) for p in SHARES),
    positions.range_of: lambda: (positions.range_of(scale * torch.rand(3, 5, 5), 2) for scale in (0, 0.1, 2.0, 90.0)),
    sequences.of_states: lambda: (
        sequences.of_states(p, ["ant"] * count) for p, count in product(SHARES, COUNTS) if count
    ),
    sequences.of_answer: lambda: (
        sequences.of_answer("LSTM", written, truth, written, named, true, forced)
        for written, truth, (named, true), forced in product(
            ("2026", "202"),
            ("", "2026", "2027"),
            ((None, None), ("monday", "monday"), ("monday", "sunday")),
            ({}, {2: "0"}, {1: "2", 2: "0"}),
        )
    ),
    sequences.of_both: lambda: (
        sequences.of_both(1, 2, ("ant", "bee", p), (1, 2, q), special)
        for p, q, special in product(SHARES, SHARES, ({}, {"cls": 2.0, "reg 1": 1.0}))
    ),
    sequences.of_look: lambda: (remark.begun(sequences.of_look(["ant"], 0, ["bee"], [p])) for p in SHARES),
    sequences.of_undrawn: lambda: (sequences.of_undrawn({"RNN": count, "LSTM": 0}, 9, 1e-4) for count in COUNTS),
    sequences.of_alignment: lambda: (
        sequences.of_alignment({"year": {"hits": hits, "places": count}, "day": {"hits": 0, "places": other}})
        for hits, count, other in product((0, 1, 997), (0, 1000), (0, 8))
    ),
    sequences.of_gradients: lambda: (
        sequences.of_gradients(dict(zip(LABELS, ([p, 1.0], [q, 1.0]), strict=False)), ("ant", "bee"))
        for p, q in product(SHARES, SHARES)
    ),
    sequences.of_forget_gates: lambda: (
        sequences.of_forget_gates([p, q], ("ant", "bee")) for p, q in product(SHARES, SHARES)
    ),
    sequences.of_ends: lambda: (
        sequences.of_ends({"RNN": ((p, q), (p, q)), "LSTM": ((q, p),)}, (8, 11), 11, "pairs")
        for p, q in product(SHARES, SHARES)
    ),
    sequences.of_unlearned: lambda: (
        sequences.of_unlearned({"RNN": ((p, q), (p, q)), "LSTM": ((q, p),)}, (1, 11), "letters").strip()
        for p, q in product(SHARES, SHARES)
    ),
    super_resolution.of_reference: lambda: (
        super_resolution.of_reference(with_db, 24.0, 23.0) for with_db in (20.0, 24.0, 32.0)
    ),
    super_resolution.of_same: lambda: (super_resolution.of_same(p) for p in SHARES),
    super_resolution.of_likeness_to_truth: lambda: [super_resolution.of_likeness_to_truth(0.7, 0.65, 0.6)],
    super_resolution.of_likeness: lambda: (
        super_resolution.of_likeness(
            {name: (at, at - 0.1, at + 0.1) for name, at in zip(LABELS, gains, strict=False)}, 500
        )
        for count in (1, 2, 3)
        for gains in product((-0.5, 0.0, 1.0), repeat=count)
    ),
    super_resolution.of_trust: lambda: (super_resolution.of_trust(p) for p in SHARES),
    super_resolution.of_whole: lambda: (
        super_resolution.of_whole((896, 640), steeper, agrees)
        for steeper, agrees in product((0.5, 1.0, 1.25, float("inf")), (30.0, float("inf")))
    ),
    super_resolution.of_tiles: lambda: (super_resolution.of_tiles(done, 25) for done in (0, 1, 24)),
    swin.pairs_saved: lambda: (
        swin.pairs_saved(layout((side, side), (window, window)), f"stage {stage}")
        for side, window, stage in product((2, 8, 56), (1, 2, 7), (1, 8))
    ),
    swin.crossing: lambda: (swin.crossing(*in_windows(p), 5) for p in SHARES),
    swin.merges: lambda: (swin.merges(1, 2, row_of(p, 4), list("abcd")) for p in SHARES),
    swin.bias_moves: lambda: (
        swin.bias_moves(row_of(p, heads), p, heads, 8) for p, heads in product(SHARES, (1, 2, 8))
    ),
    swin.without_over: lambda: (
        swin.without_over(list("abcde")[:right], list("edcba")[:still], images, "without shift")
        for images in (1, 5)
        for right, still in product(range(images + 1), repeat=2)
    ),
}


def hill():
    across = torch.arange(5) - 2
    return torch.exp(-(across[:, None] ** 2 + across[None] ** 2).float()) * 3


PHRASES = {
    *(each for each in vars(remark).values() if inspect.isfunction(each)),
    *(
        attention.called,
        attention.named,
        data_size.points,
        data_size.signed,
        distillation.in_nats,
        positions.at_offset,
        data_set.place_in_words,
        sequences.looker,
        sequences.word_of,
    ),
}
"""Of which sentences are made; they are none themselves."""


def test_every_rule_is_tried():
    modules = [
        importlib.import_module(f"{package.__name__}.{each.name}") for each in pkgutil.iter_modules(package.__path__)
    ]
    rules = {
        rule
        for module in modules
        for name, rule in vars(module).items()
        if inspect.isfunction(rule)
        and rule.__module__ == module.__name__
        and not name.startswith("_")
        and rule not in PHRASES
        and get_type_hints(rule).get("return") in (str, str | None)
    }
    missing = sorted(f"{rule.__module__}.{rule.__name__}" for rule in rules - EVERY.keys())
    assert not missing, f"Add to EVERY what these rules say: {missing}."


@pytest.mark.product
@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: f"{rule.__module__.rpartition('.')[2]}.{rule.__name__}")
def test_no_number_makes_a_fault(rule):
    torch.manual_seed(0)
    said = {remark for remark in EVERY[rule]() if remark is not None}
    assert said, "No number of the grid makes this rule speak."
    faults = list(filter(None, map(fault_of, sorted(said))))
    assert not faults, "\n".join(faults[:8])
