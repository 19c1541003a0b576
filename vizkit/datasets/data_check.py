"""What is wrong with a set of pictures before anything learns from it: broken files, the same picture twice, classes
that are empty or small, one class only."""

import hashlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from vizkit.datasets.balance import imbalance
from vizkit.datasets.image_set import DatasetError, ImageSet

USES = {"train": "to learn from", "val": "to validate", "test": "to test"}


@dataclass(frozen=True)
class Finding:
    """`count`: of pictures or classes; `what`: in a few words; `example`: where, or which."""

    count: int
    what: str
    example: str


@dataclass(frozen=True)
class Report:
    """`opened` of `images` pictures: what is broken or there twice is known of these alone."""

    opened: int
    images: int
    findings: tuple[Finding, ...]


def data_check(sets: Mapping[str, ImageSet], seconds: float = float("inf")) -> Report:
    """Look at all splits, for so many seconds, in an order drawn once: what was opened is a fair sample."""
    keys = [(split, row) for split, images in sets.items() for row in range(len(images))]
    end, opened = time.monotonic() + seconds, 0
    broken: list[str] = []
    digests: dict[tuple[str, str], bytes] = {}
    for key in np.random.default_rng(0).permutation(len(keys)).tolist():
        if time.monotonic() > end:
            break
        split, row = keys[key]
        opened += 1
        place = sets[split].place(row)
        try:
            picture = sets[split][row][0]
        except DatasetError:
            broken.append(place)
            continue
        digests[split, place] = hashlib.sha256(repr(picture.shape).encode() + picture.tobytes()).digest()
    pictures = [*_broken(broken), *copies(digests)]
    return Report(
        opened, len(keys), (*pictures, *class_findings({split: counts(images) for split, images in sets.items()}))
    )


def counts(images: ImageSet) -> dict[str, int]:
    """Label → pictures."""
    return dict(zip(images.labels, np.bincount(images.targets, minlength=len(images.labels)).tolist(), strict=True))


def copies(digests: Mapping[tuple[str, str], bytes]) -> list[Finding]:
    """Pictures, by (split, place), whose pixels another one has too: across splits, where the second measures what was
    learnt by heart, and within one."""
    groups: dict[bytes, list[tuple[str, str]]] = {}
    for where, digest in sorted(digests.items()):
        groups.setdefault(digest, []).append(where)
    several = [group for group in groups.values() if len(group) > 1]
    across = [group for group in several if len({split for split, _ in group}) > 1]
    within = [group for group in several if group not in across]
    return [
        Finding(sum(map(len, found)), words, " = ".join(place for _, place in found[0][:2]))
        for found, words in ((across, "images that occur in several splits"), (within, "images that occur twice"))
        if found
    ]


def class_findings(by_split: Mapping[str, Mapping[str, int]]) -> list[Finding]:
    """What is wrong with the numbers of pictures, split → class → pictures."""
    findings = []
    for split, classes in by_split.items():
        filled = [label for label, count in classes.items() if count]
        use = USES.get(split, split)
        if len(filled) == 1:
            findings.append(Finding(1, f"class only {use}: there is nothing to tell apart", filled[0]))
        elif empty := [label for label, count in classes.items() if not count]:
            findings.append(Finding(len(empty), f"classes without an image {use}", _some(empty)))
    training = by_split.get("train", {})
    if small := imbalance(training):
        largest = max(training, key=lambda label: training[label])
        words = f"classes with a third of the largest or less ({largest}, {training[largest]:,})"
        findings.append(Finding(len(small), words, _some(f"{label}, {training[label]:,}" for label in small)))
    return findings


def _broken(places: list[str]) -> list[Finding]:
    return [Finding(len(places), "images that cannot be opened", min(places))] if places else []


def _some(labels: Iterable[str]) -> str:
    listed = list(labels)
    return "; ".join(listed[:3]) + (" …" if len(listed) > 3 else "")
