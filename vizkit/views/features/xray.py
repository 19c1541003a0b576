"""X-ray: which patches are artifacts, which neurons make them, and a register that takes them at test time."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from vizkit.analysis.attention.token_norms import FEW, TIMES, K, Norms, lines_of, norms_of, token_norms
from vizkit.analysis.features.artifacts import OVERLAP, Artifacts, artifacts, strongest
from vizkit.analysis.remarks import features
from vizkit.figure.attention.token_lengths import token_lengths
from vizkit.figure.scales import SHARES, Scale, robust
from vizkit.geometry import id_at
from vizkit.models.probes.interventions.registers import (
    CONTROLS,
    REGISTER,
    Neuron,
    Seen,
    strongest_neurons,
    with_register,
)
from vizkit.models.recording.forward import apart
from vizkit.percent import in_percent
from vizkit.traces import Features, NotApplicable, Tokens
from vizkit.views.blocks import Blocks, Chart, Columns, Line, Numbers, Proof, Said, Table, Tile, Tiles
from vizkit.views.controls import switch
from vizkit.views.patches.opening import asked
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

BEFORE = "before"
CHANGES = {
    BEFORE: "the model as it is",
    REGISTER: "moved into the register",
    **dict(zip(CONTROLS, ("0, no register", "their mean", "noise of that size", "shuffled"), strict=True)),
}
EXACT = 1e-4
KNOWN = (
    "Public models that have them (Darcet et al. 2024): DINOv2 ViT-L/14 (vit_large_patch14_dinov2.lvd142m), DeiT III "
    "ViT-B/16 (deit3_base_patch16_224.fb_in1k) and OpenCLIP ViT-B/16 (vit_base_patch16_clip_224.laion2b)."
)


@dataclass(frozen=True)
class Found:
    """`at`: the layer, from 0, after which a norm stands out most. `own`: its artifacts, or else its longest patch."""

    norms: Sequence[Norms]
    artifacts: Sequence[Artifacts]
    at: int
    own: Bool[Tensor, " patch"]

    @property
    def counts(self) -> list[int]:
        return [each.count for each in self.artifacts]

    @staticmethod
    def of(norms: Sequence[Norms]) -> "Found":
        found = [*map(artifacts, norms)]
        at = strongest(found)
        patches = norms[at].patches
        return Found(norms, found, at, found[at].mask if found[at].count else patches == patches.max())


def found_in(of: Subject) -> Found:
    return of.kept("artifacts", lambda: Found.of(token_norms(of.seen)))


def movable(of: Sequence[Subject]) -> int:
    """1 where one of them has artifacts."""
    for each in of:
        with suppress(NotApplicable):
            if any(found_in(each).counts):
                return 1
    return 0


class XRay(View):
    """Which patches are artifacts, which neurons make them, and what a register at test time does."""

    move: bool = switch(
        "Move the artifacts into a test-time register",
        "A token of zeros is appended, where the neurons have their largest activation; at the patches they have none. "
        "Only where there are artifacts.",
        high=movable,
        runs=True,
    )

    alone = True
    how = How(
        "The band of the chart is the middle half of the patches, and the chosen one is the patch at the cursor. All "
        "maps have one scale: how many times the median of its layer a norm is, for norms grow with the layers. "
        "Artifacts are a few patches, mostly of plain background, in which large models store what is of the whole "
        "image. Some neurons of the MLPs make them: moved to a token of their own, they leave the maps clean. The "
        "controls put something else at the patches, without a register: where one does as well, it is not the "
        "register that matters.",
        r"\log \lVert x_i \rVert > \text{median} + 5\,\text{MAD}, \quad \lVert x_i \rVert > 2 \cdot \text{median}, "
        r"\quad 2\,\Phi\!\left(-\tfrac{|\mu_1 - \mu_2|}{2\sigma}\right) < 0.02, \quad \text{share} \le 0.1",
        "what is stored. In models with registers the registers have large norms and the patches do not.",
        "Darcet et al. 2024; vit-xray for the gate of overlap; Jiang et al. 2025 (arXiv 2506.08010) for the register; "
        "arXiv 2604.14433 for the controls",
    )

    def title(self, of: Subject) -> str:
        return "X-ray of the patches" + (", artifacts moved" if self.move else "")

    def show(self, of: Subject) -> Blocks:
        found = found_in(of)
        neurons, seen, missing = self.changed(of, found)
        own, patches = found.artifacts[found.at], found.norms[found.at].patches
        strong = astuple(neurons[0]) if neurons and own.count else None
        yield Said(features.of_artifacts(found.counts, found.at, own.times, len(patches), strong))
        if not own.count:
            yield Line(KNOWN)
        grids = [each.tokens.grid for each in of.seen.features]
        maps = [
            (f"layer {number}" + (f": {count}" if count else ""), each.patches / max(each.median, 1e-12), grid)
            for number, (count, each, grid) in enumerate(zip(found.counts, found.norms, grids, strict=True), 1)
            if grid
        ]
        scale = in_medians([each for _, each, _ in maps])
        what = "Norms, in medians of their layer" + (", and how many artifacts" if any(found.counts) else "")
        yield tiles(what, maps, scale)
        point, noun = asked(of), "patch" if of.layers else "place"
        lines = lines_of(found.norms, [id_at(each.tokens, point) for each in of.seen.features], noun)
        yield Chart(token_lengths(lines, found.at), "Norms by layer")
        yield Line(
            f"Artifacts: above median + {K:g} MAD of the logarithms of the norms and above {TIMES:g} medians, at most "
            f"{in_percent(FEW)} of the patches, and a group of their own, whose normal distribution overlaps that of "
            f"all others by less than {OVERLAP:g}"
            + (f" (after layer {found.at + 1}: {own.overlap:.2g})." if own.overlap < 1 else ".")
        )
        if neurons:
            yield Table(tuple(map(row_of, neurons)), "Register neurons", "Register neurons: the strongest there")
        if seen:
            yield from moved(of, found, seen, len(neurons))
        if missing:
            yield Line(missing)
        yield Proof(of.seen)
        if seen:
            error = difference(of, found, seen[BEFORE])
            words = f"with no neuron moved and a register that nobody sees, outputs and norms differ by {error:.0e}"
            yield Proof(None, words, error <= EXACT)
        yield Numbers(partial(numbers, found, neurons, seen))

    def changed(self, of: Subject, found: Found) -> tuple[Sequence[Neuron], Mapping[str, Seen], str]:
        """(the neurons, what is seen without them, why not)."""
        if not any(found.counts):
            return (), {}, ""
        neurons: Sequence[Neuron] = ()
        try:
            find = partial(strongest_neurons, of.loaded, of.pixels, found.own, found.at + 1)
            neurons = of.kept("register neurons", find)
            return neurons, of.kept("registers", partial(passes, of, neurons)) if self.move else {}, ""
        except NotApplicable as sentence:
            return neurons, {}, str(sentence)


def passes(of: Subject, neurons: Sequence[Neuron]) -> dict[str, Seen]:
    """By the keys of CHANGES; the first is the proof: nothing moved, and the register masked."""
    run = partial(with_register, of.loaded, of.seen, of.pixels)
    changed = {how: run(neurons, how, masked=how != REGISTER) for how in (REGISTER, *CONTROLS)}
    return {BEFORE: run((), masked=True)} | changed


def difference(of: Subject, found: Found, before: Seen) -> float:
    """How far a pass is from the model's own: the largest difference of an output or norm, by the largest."""
    own = torch.stack([each.patches for each in found.norms])
    return max(apart(before.logits, of.seen.logits), float((before.norms - own).abs().max() / own.max()))


def moved(of: Subject, found: Found, seen: Mapping[str, Seen], neurons: int) -> Blocks:
    """Maps before and after, and all changes in numbers."""
    tokens = of.seen.features[found.at].tokens
    after = {how: norms_after(each.norms[found.at], found.norms[found.at].name) for how, each in seen.items()}
    attends = {how: float(each.attention[found.own].sum()) for how, each in seen.items()}
    two = BEFORE, REGISTER
    times, left = ([getattr(after[how], what) for how in two] for what in ("times", "count"))
    yield Said(features.of_register(neurons, found.at + 1, times, left, [attends[how] for how in two]))
    norms = [(CHANGES[how], seen[how].norms[found.at], tokens.grid) for how in two]
    looks = [(CHANGES[how], seen[how].attention, tokens.grid) for how in two]
    who = f"[{tokens.special[0]}]" if tokens.special else "All patches"
    lengths = tiles(f"Norms after layer {found.at + 1}", norms, robust([each.numpy() for _, each, _ in norms]), 200)
    yield Columns(((lengths,), (tiles(f"{who}: attention in the last layer", looks, SHARES, 200),)))
    head, target = of.loaded.head, of.loaded.head.target(of.seen.logits)
    rows = tuple(
        {
            "neurons at the patches": CHANGES[how],
            "largest norm, in medians": f"{after[how].times:.2f}",
            "artifacts": str(after[how].count),
            "attention to the artifacts": in_percent(attends[how]),
            f"answer: {of.loaded.label(target)}": head.text(float(head.values(each.logits)[target])),
        }
        for how, each in seen.items()
    )
    yield Table(rows, "What each change does", "The register beside what else the neurons may have")


def in_medians(maps: Sequence[Tensor]) -> Scale:
    """From 0 to at least `TIMES` medians, from which a patch can be an artifact: where there is none, none is seen."""
    every = robust([each.numpy() for each in maps])
    return replace(every, low=0.0, top=max(TIMES, every.top or 0.0))


def norms_after(lengths: Tensor, name: str) -> Artifacts:
    return artifacts(norms_of(Features(name, lengths[:, None], Tokens("patches", free=len(lengths)))))


def tiles(title: str, maps: Sequence[tuple[str, Tensor, tuple[int, int]]], scale: Scale, tile_px: int = 120) -> Tiles:
    """One for each of (name, a number of each patch, grid)."""
    made = (Tile(name, each[: grid[0] * grid[1]].view(grid).numpy(), scale=scale) for name, each, grid in maps)
    return Tiles(title, tuple(made), title, tile_px=tile_px)


def row_of(neuron: Neuron) -> dict[str, str | float | None]:
    names = "block", "neuron", "mean |activation| there", "elsewhere"
    values = str(neuron.block + 1), str(neuron.unit + 1), f"{neuron.activation:.3g}", f"{neuron.elsewhere:.3g}"
    return dict(zip(names, values, strict=True))


def numbers(found: Found, neurons: Sequence[Neuron], seen: Mapping[str, Seen]) -> dict[str, np.ndarray]:
    """Of changes in the order of the table, where there are any."""
    changes = {name: [getattr(each, name).numpy() for each in seen.values()] for name in ("norms", "attention")}
    return {
        **{f"layer{number}": each.patches.numpy() for number, each in enumerate(found.norms, 1)},
        "artifacts": np.array(found.counts),
        "patches": found.own.numpy(),
        "neurons": np.array([(each.block + 1, each.unit + 1) for each in neurons], int).reshape(-1, 2),
        **{f"changed_{name}": np.array(values) for name, values in changes.items()},
    }
