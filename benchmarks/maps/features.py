"""How right dense features are on drawn insects: masks without labels, and matches of joints: docs/features.md."""

import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import vizkit
from vizkit.analysis.attention.token_norms import token_norms
from vizkit.analysis.features.artifacts import artifacts
from vizkit.analysis.features.matching import middles, most_alike, near
from vizkit.analysis.features.objects import chance_iou, iou, token_cut
from vizkit.analysis.features.probe import begun, compact, mean_iou, probe
from vizkit.analysis.remarks.places import cover
from vizkit.datasets import insects, photographs, samples
from vizkit.datasets.insects.joints import joints
from vizkit.models import Keep
from vizkit.views import alike
from vizkit.views.features.match import LIMIT, mirrored_blocks
from vizkit.views.features.object import KEYS, OUTPUTS, RULES, Object
from vizkit.views.features.vectors import COVERED, grid_of
from vizkit.views.subject import Subject

PAGE = Path(__file__).parents[2] / "docs" / "features.md"
MODELS = ("insects_vit", "insects_deit", "insects_swin", "insects_cnn")
IMAGES, SIDE_PX, LARGE_PX = 200, 224, 336
LABELLED, PAIRS, CLICKS = ("insects_vit", "photographs_vit", "insects_swin", "insects_cnn"), 100, 5
HEAD = """# What patches know of drawn insects

Written by `python -m benchmarks features`, on {count} insects of the test split, which no model has seen, at the last
layer of each model. A patch belongs to the insect where that covers a quarter of it.

## Objects without labels: mean IoU

“Anywhere”: as many patches as TokenCut's mask has, laid at random.

| model | vectors | {rules} | the whole image | anywhere |
|---|---|{lines}---|---|
"""
MATCHES = """
## Matches: PCK of the joints of legs

Each hip, knee and ankle of an insect is matched with the next insect of its kind: right within {limit:g} of the longer
side of that insect's box (PCK). “Best”: of the patches on which the joints really lie. “Insect” and “anywhere”: of a
patch of the insect, or of the image, at random. Mirrored: the same joints in a mirror image, right within {limit:g} of
its side; “stay”: matched with where they were before instead, as if left were right.

Part: of every patch of the first half of the insects the most similar patch of the other half lies on the same part of
its insect (head, leg, …); “by chance”: a patch of any of those insects at random would.

| model | PCK | best | insect | anywhere | mirrored: PCK | mirrored: stay | part | by chance |
|---|---|---|---|---|---|---|---|---|
"""
LABELS = """
## Labels from ten clicks: mean IoU of insect and ground

{clicks} patches of an insect and {clicks} of the ground around it are painted, drawn at random, on {pairs} insects; a
probe labels the rest of that image, and the next one, on which nobody painted. “Begun”: the first image by the four
patches that the page itself paints. “Anywhere”: as many patches, laid at random on the next image.

| model | painted image | next image | anywhere | begun |
|---|---|---|---|---|
"""

ARTIFACTS = """

## X-ray: artifacts

Of {photographs} photographs and {insects} drawn insects: patches that are artifacts in any layer, and by how many
medians of its layer the largest norm of any layer stands out.

| model | px | images | artifacts | largest norm, least to most |
|---|---|---|---|---|
"""


def run() -> None:
    parts = [HEAD.format(count=IMAGES, rules=" | ".join(RULES), lines="---|" * len(RULES))]
    matches = [MATCHES.format(limit=LIMIT)]
    for name in MODELS:
        masks, pck = measured(name)
        parts += masks
        matches.append(pck)
        print(*masks, pck, sep="", flush=True)
    labels = [LABELS.format(clicks=CLICKS, pairs=PAIRS), *map(labelled, LABELLED)]
    PAGE.write_text("".join([*parts, *matches, *labels, seconds(), *norms()]), encoding="utf-8")


def norms() -> list[str]:
    """Of the images that come with vizkit."""
    lines = [ARTIFACTS.format(photographs=len(photographs.NAMES), insects=len(samples.INSECTS))]
    cases = [("photographs_vit", side, photographs.NAMES) for side in (252, LARGE_PX)]
    cases += [(name, SIDE_PX, samples.INSECTS) for name in MODELS[:2]]
    for name, side_px, images in cases:
        loaded = vizkit.load(f"bundled:{name}", device="cpu", image_size=side_px)
        traces = [vizkit.trace(loaded, samples.picture(image), keep=Keep(heads="mean")) for image in images]
        found = [[artifacts(layer) for layer in token_norms(trace)] for trace in traces]
        largest = [max(layer.times for layer in layers) for layers in found]
        count = sum(layer.count for layers in found for layer in layers)
        lines.append(f"| {name} | {side_px} | {len(images)} | {count} | {min(largest):.1f} to {max(largest):.1f} |\n")
    return lines


def measured(name: str) -> tuple[list[str], str]:
    loaded = vizkit.load(f"bundled:{name}", device="cpu")
    scores = {of: [] for of in (OUTPUTS, KEYS)}
    kept = []
    for index in range(IMAGES):
        drawn = insects.draw(index, split="test", size_px=SIDE_PX)
        of = Subject(lambda: loaded, drawn.picture)
        mask = torch.from_numpy(drawn.insect).float()
        for vectors, rows in scores.items():
            found = Object(vectors=vectors).found(of)  # pyright: ignore[reportArgumentType] - one of its options
            if vectors == KEYS and not found.said.startswith(KEYS):
                continue
            grid = (found.vector.shape[0], found.vector.shape[1])
            truth = cover(mask, of.box_xyxy, grid) >= COVERED
            every = float(truth.float().mean())
            share = float(found.masks["TokenCut"].float().mean())
            rows.append([*(iou(found.masks[rule], truth) for rule in RULES), every, chance_iou(share, every)])
        last, mirrored = (grid_of(blocks[-1]) for blocks in (alike.blocks_of(of)[1], mirrored_blocks(of)))
        kept.append((drawn, joints(index, split="test"), last, mirrored))
    lines = [
        f"| {name} | {vectors} | {' | '.join(f'{value:.2f}' for value in np.mean(rows, 0))} |\n"
        for vectors, rows in scores.items()
        if rows
    ]
    return lines, of_joints(name, kept)


def of_joints(name: str, kept: list) -> str:
    rates = {what: [] for what in ("pck", "best", "insect", "anywhere", "right", "stay")}
    for at, (drawn, own, vectors, mirrored) in enumerate(kept):
        grid = tuple(vectors.shape[:2])
        places, flat = middles(grid), vectors.flatten(0, 1)
        if not len(own):
            continue
        visible = ((own > 0) & (own < 1)).all(1)
        own_ids = ids_of(own, grid)
        flipped = torch.from_numpy(own * (-1, 1) + (1, 0)).float()
        there = places[most_alike(flat[own_ids], mirrored.flatten(0, 1), 1)[0][:, 0]]
        right = near(there, flipped, LIMIT)[visible]
        rates["right"] += right.tolist()
        rates["stay"] += (near(there, torch.from_numpy(own).float(), LIMIT)[visible] & ~right).tolist()
        other = next((each for each in kept[at + 1 :] if each[0].label == drawn.label), None)
        if other is None or len(other[1]) != len(own):
            continue
        both = torch.from_numpy(visible & ((other[1] > 0) & (other[1] < 1)).all(1))
        true = torch.from_numpy(other[1]).float()[both]
        rows, columns = (np.flatnonzero(other[0].insect.any(axis)) for axis in (1, 0))
        limit = LIMIT * max(np.ptp(rows), np.ptp(columns)) / SIDE_PX
        found = places[most_alike(flat[own_ids[both]], other[2].flatten(0, 1), 1)[0][:, 0]]
        rates["pck"] += near(found, true, limit).tolist()
        rates["best"] += near(places[ids_of(other[1], grid)][both], true, limit).tolist()
        on = (cover(torch.from_numpy(other[0].insect).float(), (0.0, 0.0, SIDE_PX, SIDE_PX), grid) >= COVERED).flatten()
        close = (places[None] - true[:, None]).norm(dim=2) <= limit
        rates["anywhere"] += close.float().mean(1).tolist()
        rates["insect"] += close[:, on].float().mean(1).tolist() if on.any() else []
    shares = [*map(np.mean, rates.values()), *of_parts(kept)]
    return f"| {name} | {' | '.join(f'{share:.2f}' for share in shares)} |\n"


def of_parts(kept: list) -> tuple[float, float]:
    """How often the most similar patch of other insects lies on the same part, and how often a random one of a part
    would. Patches of the ground have none and may be found too."""
    vectors = [each[2].flatten(0, 1) for each in kept]
    parts = [parts_on(drawn, tuple(own.shape[:2])) for drawn, _, own, _ in kept]
    half = len(kept) // 2
    asking, there = (torch.cat(some) for some in (parts[:half], parts[half:]))
    found = most_alike(torch.cat(vectors[:half])[asking > 0], torch.cat(vectors[half:]), 1)[0][:, 0]
    shares = torch.bincount(there[there > 0], minlength=int(asking.max()) + 1) / (there > 0).sum()
    return float((there[found] == asking[asking > 0]).float().mean()), float(shares[asking[asking > 0]].mean())


def parts_on(drawn: Any, grid: tuple[int, int]) -> torch.Tensor:
    """The part that covers most of each patch of the insect, row by row; 0 elsewhere."""
    box = 0.0, 0.0, float(SIDE_PX), float(SIDE_PX)
    each = [
        cover(torch.from_numpy(drawn.parts == part).float(), box, grid) for part in range(1, int(drawn.parts.max()) + 1)
    ]
    inside = cover(torch.from_numpy(drawn.insect).float(), box, grid) >= COVERED
    return ((torch.stack(each).argmax(0) + 1) * inside).flatten()


def labelled(name: str) -> str:
    loaded, rows, kept = vizkit.load(f"bundled:{name}", device="cpu"), [], []
    for index in range(PAIRS + 1):
        drawn = insects.draw(index, split="test", size_px=SIDE_PX)
        of = Subject(lambda: loaded, drawn.picture)
        vectors = grid_of(alike.blocks_of(of)[1][-1])
        grid = vectors.shape[0], vectors.shape[1]
        truth = cover(torch.from_numpy(drawn.insect).float(), of.box_xyxy, grid) >= COVERED
        kept.append((vectors, truth.flatten()))
    for index, ((vectors, own), (others, other)) in enumerate(itertools.pairwise(kept)):
        both = compact(torch.cat([vectors.flatten(0, 1), others.flatten(0, 1)]))
        draw, sides = np.random.default_rng(index), [np.flatnonzero(own == side) for side in (True, False)]
        picked = [draw.choice(side, min(CLICKS, len(side)), replace=False) for side in sides]
        painted = {int(patch): thing for thing, ids in enumerate(picked, 1) for patch in ids}
        alone = compact(vectors.flatten(0, 1))
        first = probe(alone, begun(alone.unflatten(0, tuple(vectors.shape[:2]))))[1] == 1
        found = probe(both, painted)[1] == 1
        rest = torch.ones(len(own), dtype=torch.bool)
        rest[[*painted]] = False
        own_rest = mean_iou(found[: len(own)][rest], own[rest])[0]
        rows.append([own_rest, *mean_iou(found[len(own) :], other), mean_iou(first, own)[0]])
    return f"| {name} | {' | '.join(f'{value:.2f}' for value in np.mean(rows, 0))} |\n"


def ids_of(points: np.ndarray, grid: tuple[int, int]) -> torch.Tensor:
    """The patches on which points (x, y) lie."""
    x, y = (points.T * np.array([[grid[1]], [grid[0]]])).astype(int)
    return torch.from_numpy(y.clip(0, grid[0] - 1) * grid[1] + x.clip(0, grid[1] - 1))


def seconds() -> str:
    loaded = vizkit.load("bundled:photographs_vit", image_size=LARGE_PX, device="cpu")
    of = Subject(lambda: loaded, samples.picture("cat"))
    vectors = grid_of(alike.blocks_of(of)[1][-1]).flatten(0, 1)
    start = time.process_time()
    token_cut(vectors)
    took = time.process_time() - start
    return f"\nTokenCut of {len(vectors)} patches ({LARGE_PX} px): {took:.2f} s of the processor.\n"


if __name__ == "__main__":
    run()
