"""What looking over a data set finds of what was planted in it, and how long it takes: docs/dataset.md.

    python -m benchmarks data_set FOLDER [--seeds 0 1 2] [--images 2000] [--epochs 15] [--mark-px 8] [--part marks …]

FOLDER keeps the pictures with a mark and the models that are trained on them, some minutes each.
"""

import argparse
import json
import statistics
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

import vizkit
from vizkit.datasets.image_set import Source, digest_of
from vizkit.datasets.opening import open_set
from vizkit.evaluation.data_set import embedding, hide, open_labelled, probe, record, shortcuts, suspects, verdict
from vizkit.evaluation.data_set.opening import joined
from vizkit.evaluation.data_set.probing import out_of_sample
from vizkit.evaluation.data_set.suspects import copies as find_copies
from vizkit.explanations.data_set import Overview
from vizkit.explanations.job import Seen
from vizkit.explanations.reading import pixels_on, stored_input

PARTS = ("labels", "marks", "copies", "times")
SIZE_PX = 64  # of pictures that a model is trained on here
COLOUR = (230, 40, 200)
TESTED = 400


def judged(order, wrong) -> tuple[float, float]:
    """Precision and recall of what is suspected."""
    hits = int(wrong[order].sum())
    return hits / max(1, len(order)), hits / int(wrong.sum())


def labels(folder, seeds, images, epochs, mark_px) -> None:
    for seed in seeds:
        for name, of in (("bundled:insects_vit", None), ("the model of the marked images", folder / f"run{seed}")):
            loaded = vizkit.load(str(of) if of else name)
            size_px = loaded.preprocessing.size_hw[0]
            clean = record(loaded, open_labelled("insects", "test", images=images, size_px=size_px, seed=seed))
            chance, count = np.random.default_rng(seed), len(clean.labels)
            wrong = np.zeros(len(clean), bool)
            wrong[chance.choice(len(clean), len(clean) // 10, replace=False)] = True
            target = np.where(wrong, (clean.target + chance.integers(1, count, len(clean))) % count, clean.target)
            flipped = replace(clean, target=target, truth=target)
            told = out_of_sample(flipped.features, target, seed)
            found = [one.row for one in suspects(flipped, seed, told) if one.kind == "label"]
            loss = np.argsort(-flipped.loss, kind="stable")[: len(found)]
            votes = np.argsort(told.knn[np.arange(len(target)), target], kind="stable")[: len(found)]
            rows = {"cleanlab": found, "loss": loss, "k-NN": votes}
            line = ", ".join("{} {:.3f}/{:.3f}".format(each, *judged(order, wrong)) for each, order in rows.items())
            proposed = {one.row: one.proposal for one in suspects(flipped, seed, told) if one.kind == "label"}
            mended = np.mean([proposed[row] == clean.target[row] for row in found if wrong[row]])
            print(f"seed {seed}, {name}, {clean.right.mean():.1%} right: {wrong.sum()} wrong labels", end=", ")
            print(f"{len(found)} suspected; precision/recall {line}; proposal right {mended:.1%}", flush=True)
            alarms = Counter(one.kind for one in suspects(clean, seed))
            clusters = shortcuts(clean, seed)
            print(f"  clean: suspects {dict(alarms)}, highest cluster {clusters[0].score:.2f}", flush=True)
            shuffled = replace(clean, target=chance.permutation(clean.target))
            both, plane = probe(shuffled, seed), embedding(shuffled, seed=seed)
            line = f"k-NN {both.knn.value:.3f}, linear {both.linear.value:.3f}, purity of the map {plane.purity:.3f}"
            print(f"  shuffled labels, chance {1 / count:.3f}: {line}", flush=True)


# ---- a mark in the corner --------------------------------------------------------------------------------------------
def marked_folder(folder, seed, images, mark_px) -> Path:
    """train with the mark in a fifth of one class, test without; the same pictures without it beside it."""
    from PIL import Image

    path = folder / f"marked{seed}"
    if path.is_dir():
        return path
    every = open_set("insects", "train", images=images, size_px=SIZE_PX, seed=seed)
    rows = np.flatnonzero(every.targets == seed)
    marked = {*np.random.default_rng(seed).choice(rows, round(0.2 * len(rows)), replace=False).tolist()}
    part = path.with_suffix(".part")
    for split, some in (
        ("train", every),
        ("test", open_set("insects", "test", images=TESTED, size_px=SIZE_PX, seed=seed)),
    ):
        for row in range(len(some)):
            rgb, target = some[row]
            own = part / split / some.labels[target].replace(" ", "_")
            own.mkdir(parents=True, exist_ok=True)
            if split == "train" and row in marked:
                without = part.with_name(f"without{seed}")
                without.mkdir(exist_ok=True)
                Image.fromarray(rgb).save(without / f"{row:05}.png")
                rgb[1 : 1 + mark_px, 1 : 1 + mark_px] = COLOUR
            Image.fromarray(rgb).save(own / f"{row:05}{'_marked' if split == 'train' and row in marked else ''}.png")
    part.rename(path)
    return path


def trained(folder, seed, images, epochs, mark_px) -> Path:
    """By vizkit's own training, from scratch."""
    from vizkit.__main__ import main

    path, data = folder / f"run{seed}", marked_folder(folder, seed, images, mark_px)
    if not (path / "model.safetensors").is_file():
        options = f"--recipe quick --image-size {SIZE_PX} --epochs {epochs} --seed {seed} --flip 0 --quiet"
        assert main(["train", "--data", str(data), "-o", str(path), *options.split()]) == 0
    return path


def marks(folder, seeds, images, epochs, mark_px) -> None:
    import torch

    from vizkit.image import open_image

    for seed in seeds:
        loaded = vizkit.load(str(trained(folder, seed, images, epochs, mark_px)))
        for method in ("rollout", "generic_relevance"):
            found = record(loaded, open_labelled(marked_folder(folder, seed, images, mark_px)), method=method)
            marked = np.array(["_marked" in key for key in found.keys])
            first, second, *_ = shortcuts(found, seed)
            hidden = hide(loaded, found, first, seed=seed)
            purity, recall = marked[first.rows].mean(), marked[first.rows].sum() / marked.sum()
            numbers = f"purity {purity:.3f}, recall {recall:.3f}, {first.clusters} clusters, score {first.score:.1f}"
            print(f"seed {seed}, {method}: {numbers}, the next {second.score:.1f}", flush=True)
            print(f"  {verdict(found, first, hidden)}")
            test = found.splits == "test"
            train = f"{found.right[~test & ~marked].mean():.1%} of the other training images"
            print(f"  right: {found.right[test].mean():.1%} of test images, {train}")
            if method == "rollout":
                rows = np.flatnonzero(marked)
                files = [folder / f"without{seed}" / Path(found.keys[row]).name.replace("_marked", "") for row in rows]
                seen = np.stack([stored_input(open_image(file), loaded.preprocessing) for file in files])
                pixels = pixels_on(loaded.device, torch.from_numpy(seen), loaded.preprocessing)
                with torch.no_grad():
                    answers = loaded.model(pixels).argmax(1).numpy()
                without = (answers == found.truth[rows]).mean()
                print(f"  marked: {found.right[rows].mean():.1%} right, drawn without it {without:.1%}", flush=True)


# ---- copies ----------------------------------------------------------------------------------------------------------
class Copies(Source):
    """Pictures of another source, changed in one way."""

    def __init__(self, whole, change) -> None:
        self.whole, self.change = whole, change

    def picture(self, index):
        return np.ascontiguousarray(self.change(self.whole.picture(index)))


def as_jpeg(rgb):
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(rgb).save(file, "JPEG", quality=40)
    return np.asarray(Image.open(file))


def resized(rgb, box):
    from PIL import Image

    return np.asarray(Image.fromarray(rgb).resize(rgb.shape[1::-1], box=box))


def half_size(rgb):
    from PIL import Image

    return np.asarray(Image.fromarray(rgb).resize((rgb.shape[1] // 2, rgb.shape[0] // 2)))


CHANGES = {
    "the same file": lambda rgb: rgb,
    "JPEG at quality 40": as_jpeg,
    "half the size": half_size,
    "a tenth brighter": lambda rgb: (rgb * 1.1).clip(0, 255).astype(np.uint8),
    "moved by 2 pixels": lambda rgb: np.roll(rgb, 2, 1),
    "mirrored": lambda rgb: rgb[:, ::-1],
    "5 % cut off on all sides": lambda rgb: resized(rgb, _inner(rgb, 0.05)),
    "turned by 90°": lambda rgb: np.rot90(rgb),
}


def _inner(rgb, share):
    height, width = rgb.shape[:2]
    return share * width, share * height, (1 - share) * width, (1 - share) * height


def copies(folder, seeds, images, epochs, mark_px) -> None:
    loaded = vizkit.load("bundled:insects_vit")
    for seed in seeds:
        train = open_set("insects", "train", images=300, size_px=112, seed=seed)
        rows = np.sort(np.random.default_rng(seed).choice(len(train), 20, replace=False))
        parts = {"train": train}
        for name, change in CHANGES.items():
            some = train.take(rows)
            parts[name] = replace(some, source=Copies(some.source, change), digest=digest_of(some.digest, name))
        found = record(loaded, joined(parts))
        original = np.concatenate([np.arange(len(train)), *[rows] * len(CHANGES)])[found.rows]
        pairs = [(a, b) for a, b, *_ in find_copies(found.features, found.hashes, found.thumbnails)]
        planted = Counter(
            found.splits[b] for a, b in pairs if found.splits[a] == "train" and original[a] == original[b]
        )
        false = sum(original[a] != original[b] for a, b in pairs)
        told = ", ".join(f"{name} {planted[name]} of {len(rows)}" for name in CHANGES)
        print(f"seed {seed}: {told}; {false} pairs that are none", flush=True)


# ---- times -----------------------------------------------------------------------------------------------------------
def times(folder, seeds, images, epochs, mark_px) -> None:
    import torch

    for name in ("bundled:insects_vit", "vit_small_patch16_224"):
        loaded = vizkit.load(name, **({} if ":" in name else {"pretrained": False}))
        size = 32 if ":" in name else 16
        some = open_set("insects", "test", images=size, size_px=loaded.preprocessing.size_hw[0])
        seen = torch.stack([torch.from_numpy(stored_input(some[row][0], loaded.preprocessing)) for row in range(size)])
        pixels, made_by = pixels_on(loaded.device, seen, loaded.preprocessing), Overview(loaded, "rollout")
        given = Seen(pixels, [some.labels[target] for target in some.targets], [*map(str, range(size))])
        made_by.of(given), made_by.forward(pixels)
        pairs = [(_seconds(made_by.forward, pixels), _seconds(made_by.of, given)) for _ in range(15)]
        ratio = statistics.median(whole / bare for bare, whole in pairs)
        print(f"{name}: {ratio:.2f} × the bare forward, {size / pairs[-1][1]:.0f} images/s", flush=True)
    loaded = vizkit.load("bundled:insects_vit")
    pictures = open_labelled("insects", "test", images=images, size_px=112, seed=99)
    took = {"pass, drawing included": _seconds(record, loaded, pictures)}
    found = record(loaded, pictures)
    told = out_of_sample(found.features, found.target)
    took["map"] = _seconds(embedding, found)
    took["probes"] = _seconds(out_of_sample, found.features, found.target)
    took["suspects"] = _seconds(suspects, found, 0, told)
    took["shortcuts"] = _seconds(shortcuts, found)
    first = shortcuts(found)[0]
    took["hiding one"] = _seconds(hide, loaded, found, first)
    print(json.dumps({name: round(seconds, 1) for name, seconds in took.items()}), f"{sum(took.values()):.0f} s in all")


def _seconds(work, *given) -> float:
    began = time.perf_counter()
    work(*given)
    return time.perf_counter() - began


def run(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks data_set", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2))
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--mark-px", type=int, default=SIZE_PX // 8)
    parser.add_argument("--part", nargs="+", default=PARTS, choices=PARTS)
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    for part in given.part:
        print(part, flush=True)
        globals()[part](given.folder, given.seeds, given.images, given.epochs, given.mark_px)
