"""Pictures that somebody should look at: wrong labels, near copies, strangers, dark, blurred, oddly large ones.

Nothing on disk is changed: what is decided goes into a table. Labels by confident learning (Northcutt et al. 2021) as
cleanlab has it, from what probes say of pictures that they have not seen. Copies: near by
features or by hash, and then alike pixel by pixel, perhaps mirrored; a copy that is turned or cut is missed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from jaxtyping import Float, Float32, Int

from vizkit.analysis.data_set import picture
from vizkit.evaluation.data_set.embedding import nearest
from vizkit.evaluation.data_set.probing import OutOfSample, out_of_sample
from vizkit.evaluation.data_set.record import MissingExtra, Recorded, directions
from vizkit.percent import in_percent
from vizkit.traces import NotApplicable
from vizkit.writing import csv_lines

KINDS = {
    "label": "Wrong label?",
    "copy": "Near copy",
    "outlier": "Unlike all others",
    "dark": "Dark",
    "light": "Light",
    "blurred": "Blurred",
    "size": "Odd size",
}
ALIKE = 0.95  # correlation of the pixels of two thumbnails
NEARER = 10  # times as near as most pictures are to the one most like them: handwritten ones are above ALIKE
NEAR_BITS = 10  # of 64, for two pictures to be compared pixel by pixel
COMPARED = 5  # nearest by features that are compared, too
FLAT = 2.0  # grey levels of deviation: below it a thumbnail is one colour
FAR = 3.0  # interquartile ranges outside the quartiles
WEAK = 0.2  # of the edges that most pictures have: below it a picture is blurred, whatever its border
NARROW = 0.35  # shorter side / longer side, as cleanvision has it
AT_ONCE = 512
COLUMNS = ("picture", "split", "label", "kind", "score", "why", "like", "proposal", "decision")  # of a CSV


@dataclass(frozen=True)
class Suspect:
    """`row`: of the record; `score`: 0 to 1, the worst first within a kind; `other`: the copy's row, −1 without;
    `proposal`: the label of the set that it might have, −1 without."""

    row: int
    kind: str
    score: float
    said: str
    other: int = -1
    proposal: int = -1


def suspects(found: Recorded, seed: int = 0, told: OutOfSample | None = None) -> tuple[Suspect, ...]:
    """In the order of KINDS, the worst first. Raises MissingExtra without cleanlab."""
    every = [*_labels(found, seed, told), *_copies(found), *_outliers(found), *_qualities(found), *_sizes(found)]
    order = [*KINDS]
    return tuple(sorted(every, key=lambda one: (order.index(one.kind), -one.score, one.row)))


# ---- labels ----------------------------------------------------------------------------------------------------------
def _labels(found: Recorded, seed: int, told: OutOfSample | None) -> Iterator[Suspect]:
    try:
        told = told or out_of_sample(found.features, found.target, seed)
    except NotApplicable:
        return
    own, both = found.target[told.rows], told.both
    for at, score in wrong_labels(own, both):
        proposal = int(both[at].argmax())
        given, share = in_percent(1 - score), in_percent(both[at, proposal])
        said = f"Labelled {found.labels[own[at]]}: probes give {given} to it, {share} to {found.labels[proposal]}."
        yield Suspect(int(told.rows[at]), "label", score, said, proposal=proposal)


def wrong_labels(
    own: Int[np.ndarray, " picture"], probabilities: Float[np.ndarray, "picture label"]
) -> list[tuple[int, float]]:
    """(place, 1 − the probability of its label), the worst first, of those that confident learning doubts. The
    probabilities have to be out of sample: a model's own on what it has learned from find nothing."""
    try:
        from cleanlab.filter import find_label_issues
    except ModuleNotFoundError:
        raise MissingExtra("cleanlab") from None
    there, compact = np.unique(own, return_inverse=True)
    if len(there) < 2:
        return []
    shares = probabilities[:, there] / probabilities[:, there].sum(1, keepdims=True)
    found = find_label_issues(compact, shares, return_indices_ranked_by="self_confidence", n_jobs=1)
    places = [int(place) for place in found if shares[place].argmax() != compact[place]]
    return [(place, float(1 - shares[place, compact[place]])) for place in places]


# ---- copies ----------------------------------------------------------------------------------------------------------
def _copies(found: Recorded) -> Iterator[Suspect]:
    """Each picture with the copy before it that is most alike."""
    best: dict[int, tuple[float, int, bool]] = {}
    for first, second, alike, mirrored in copies(found.features, found.hashes, found.thumbnails):
        best[second] = max(best.get(second, (0.0, -1, False)), (alike, first, mirrored))
    for row, (alike, other, mirrored) in best.items():
        across = found.splits[row] != found.splits[other]
        where = f", in {found.splits[other]} and in {found.splits[row]}" if across else ""
        differs = found.target[row] != found.target[other]
        label = f", labelled {found.labels[found.target[other]]} there" if differs else ""
        how = "Mirrored" if mirrored else "Nearly the same"
        yield Suspect(row, "copy", (alike + across) / 2, f"{how} as {found.keys[other]}{where}{label}.", other)


def copies(
    features: Float32[np.ndarray, "picture feature"], hashes: np.ndarray, thumbnails: np.ndarray
) -> list[tuple[int, int, float, bool]]:
    """(first, second, correlation of their pixels, whether one is mirrored) of pairs that are alike."""
    if len(features) < 2:
        return []
    near = nearest(directions(features), min(COMPARED, len(features) - 1))
    small = torch.tensor(thumbnails).permute(0, 3, 1, 2)
    own, turned_over = picture.hashes(small), picture.hashes(small.flip(3))
    pairs = {(min(a, b), max(a, b)) for a, row in enumerate(near.tolist()) for b in row}
    pairs |= _hashed_alike(hashes, hashes) | _hashed_alike(own, turned_over)
    if not pairs:
        return []
    first, second = np.array(sorted(pairs)).T
    grey = thumbnails.astype(np.float32) @ picture.GREY.numpy()
    flat = grey.reshape(len(grey), -1).std(1) < FLAT
    straight, mirrored = (_standard(each) for each in (grey, grey[:, :, ::-1]))
    some = [slice(at, at + AT_ONCE) for at in range(0, len(first), AT_ONCE)]
    plain, turned = (
        np.concatenate([(straight[first[here]] * other[second[here]]).mean(1) for here in some]).astype(float)
        for other in (straight, mirrored)
    )
    alike = np.maximum(plain, turned)
    best = np.zeros(len(grey))
    np.maximum.at(best, np.concatenate([first, second]), np.tile(alike, 2))
    least = max(ALIKE, 1 - (1 - float(np.percentile(best, 25))) / NEARER)
    keep = (alike >= least) & ~flat[first] & ~flat[second]
    rows = zip(first[keep].tolist(), second[keep].tolist(), alike[keep].tolist(), (turned > plain)[keep], strict=True)
    return [(a, b, min(1.0, share), bool(mirror)) for a, b, share, mirror in rows]


def _hashed_alike(hashes: np.ndarray, others: np.ndarray) -> set[tuple[int, int]]:
    pairs = set()
    for at in range(0, len(hashes), AT_ONCE):
        apart = picture.bits_apart(hashes[at : at + AT_ONCE, None], others[None])
        pairs |= {(at + a, b) for a, b in np.argwhere(apart <= NEAR_BITS).tolist() if at + a < b}
    return pairs


def _standard(grey: np.ndarray) -> Float32[np.ndarray, "picture pixel"]:
    flat = grey.reshape(len(grey), -1)
    return (flat - flat.mean(1, keepdims=True)) / np.maximum(flat.std(1, keepdims=True), 1e-6)


# ---- strangers, light, sharpness, size -------------------------------------------------------------------------------
def _outliers(found: Recorded) -> Iterator[Suspect]:
    if len(found) < 4:
        return
    points = directions(found.features)
    near = nearest(points, min(10, len(points) - 1))
    apart = np.linalg.norm(points[:, None] - points[near], axis=2).mean(1)
    _, high = fences(apart)
    for row in np.flatnonzero(apart > high).tolist():
        said = f"Its 10 nearest lie {apart[row] / np.median(apart):.1f} times as far as those of most images."
        yield Suspect(row, "outlier", float(1 - high / apart[row]), said)


def fences(values: Float[np.ndarray, " picture"], least: float = 0.0) -> tuple[float, float]:
    """Outside of them a value is far from the others (Tukey 1977): 3 times what lies between the quartiles, at least
    the share `least` of the median."""
    low, median, high = np.percentile(values, [25, 50, 75])
    width = FAR * max(high - low, least * median)
    return low - width, high + width


def _qualities(found: Recorded) -> Iterator[Suspect]:
    words = {
        "dark": "Its brightest hundredth reaches {:.0%} of white.",
        "light": "All but its darkest twentieth is brighter than {:.0%} of white.",
        "blurred": "Its edges are weak: {:.2f} where most images have {:.2f}.",
    }
    edges = picture.edges(torch.tensor(found.thumbnails).permute(0, 3, 1, 2))
    usual = float(np.median(edges))
    weak = (edges < WEAK * usual) & (found.scores >= [*picture.BELOW.values()]).all(1)  # the dark have none either
    for row in np.flatnonzero(weak).tolist():
        said = f"Its edges are weak: {edges[row]:.1f} grey levels where most images have {usual:.1f}."
        yield Suspect(row, "blurred", float(1 - edges[row] / usual), said)
    for column, (kind, below) in enumerate(picture.BELOW.items()):
        scores = found.scores[:, column]
        for row in np.flatnonzero(scores < below).tolist():
            value = 1 - scores[row] if kind == "light" else scores[row]
            said = words[kind].format(value, float(np.median(scores)))
            yield Suspect(row, kind, float(1 - scores[row] / below), said)


def _sizes(found: Recorded) -> Iterator[Suspect]:
    heights, widths = found.sizes_hw.T
    side = np.sqrt(heights * widths)
    low, high = fences(side, 0.1)
    narrow = np.minimum(heights, widths) / np.maximum(heights, widths)
    for row in np.flatnonzero((side < low) | (side > high) | (narrow < NARROW)).tolist():
        times = side[row] / np.median(side)
        said = f"{widths[row]} × {heights[row]} pixels, where most have a side of {np.median(side):.0f}."
        yield Suspect(row, "size", float(1 - min(times, 1 / times, narrow[row])), said)


# ---- what is decided -------------------------------------------------------------------------------------------------
def suspects_csv(
    found: Recorded, every: Sequence[Suspect], decided: Mapping[tuple[int, str], str] = MappingProxyType({})
) -> str:
    """A line for each suspect. `decided`: (row, kind) → what was decided: "keep", "drop" or a label of the set."""

    keys, labels = (*found.keys, ""), (*found.labels, "")  # the last is that of −1
    rows = (
        (
            keys[one.row],
            str(found.splits[one.row]),
            labels[found.target[one.row]],
            one.kind,
            one.score,
            one.said,
            keys[one.other],
            labels[one.proposal],
            decided.get((one.row, one.kind), ""),
        )
        for one in every
    )
    return csv_lines([COLUMNS, *rows])
