"""Patching: what of a clean run, put into a corrupted one, brings the answer back."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vizkit.analysis.attribution.logit_lens import runner_up
from vizkit.analysis.attribution.restored import restored
from vizkit.analysis.comparison.corruption import CORRUPTIONS, corrupted, erased
from vizkit.analysis.remarks.interventions import HARM, of_patching
from vizkit.analysis.remarks.remark import joined, percent
from vizkit.datasets import samples
from vizkit.figure.charts import heat_map, paired_bars
from vizkit.figure.overlay import under
from vizkit.figure.patch_cells import restored_cells
from vizkit.figure.scales import robust
from vizkit.image import RGB, data_url, seen
from vizkit.models import attention_places, pixels_of
from vizkit.models.probes.interventions.patching import patch
from vizkit.models.probes.interventions.stream import blocks_of
from vizkit.views.blocks import (
    Answered,
    Block,
    Chart,
    Columns,
    Heading,
    Job,
    Later,
    Line,
    Numbers,
    Picture,
    Proof,
    Said,
    Tile,
    Tiles,
)
from vizkit.views.controls import choice, number, switch
from vizkit.views.intervene.changed import Among, agreeing, answer_in_words, others
from vizkit.views.relevance.decision import Decision, in_words
from vizkit.views.subject import Subject
from vizkit.views.view import How

if TYPE_CHECKING:
    from vizkit.models.probes.interventions.patching import Patched

ERASED, OTHER = "erased insect", "another picture"
ROUGH, COARSE, FINE = 4, 8, 16  # rows of regions at most; rough ones, without heads, are seen until others are there
WIDTHS = (3, 8, 6)
SHOWN = 4  # classes of an opened run


def kinds(of: Sequence[Subject]) -> list[str]:
    insect = any(each.image in samples.INSECTS for each in of)
    return [*CORRUPTIONS, *([ERASED] if insect else []), OTHER]


def depth(of: Sequence[Subject]) -> int:
    return max((len(blocks_of(each.loaded)) for each in of), default=1)


class Patching(Among, Decision):
    """Where the evidence is, and after which block: parts of the clean run are put into a corrupted one."""

    how_corrupted: str = choice(
        "Corrupted by",
        kinds,
        "What takes the evidence away.",
        words={OTHER: "another image"},
        default="blur",
        key="patching_how",
        runs=True,
    )
    other: str | None = choice(
        "Image",
        others,
        key="patching_other",
        listed=True,
        when=lambda view: view.how_corrupted == OTHER,
        runs=True,
    )
    fine: bool = switch("Finer regions", key="patching_fine", runs=True)
    block: int = number(
        "After block",
        0,
        depth,
        0,
        "Which block the large map shows; 0: the one after which the best region restores the most.",
        key="patching_layer",
        inside=True,
    )
    region: int = number(
        "Region",
        0,
        FINE * FINE,
        0,
        "Whose run is opened, row by row from 1; 0: none.",
        key="patching_region",
        inside=True,
    )

    alone: ClassVar = True
    how: ClassVar = How(
        "One region of the clean run's stream is put into the run on the corrupted image after a block, and the "
        "model goes on from there. Red regions bring the logit back: there, after that block, the evidence is. Click "
        "a region to see its run. A head is exchanged inside its block, at all tokens.",
        r"\frac{z(\text{corrupted, patched}) - z(\text{corrupted})}{z(\text{clean}) - z(\text{corrupted})}",
        "what several regions restore together: that may be more than the sum of what each does.",
        "Meng et al. 2022; Heimersheim & Nanda 2024",
    )

    def title(self, of: Subject) -> str:
        return f"Patching: what restores {of.loaded.label(self.asked(of)[0])}, corrupted by {self.named(of)}"

    def named(self, of: Subject) -> str:
        return f"another image, {self.name(of)}" if self.how_corrupted == OTHER else self.how_corrupted

    def name(self, of: Subject) -> str:
        return self.other or others([of])[0]

    def show(self, of: Subject) -> Iterator[Block]:
        self.asked(of)
        rgb = self.corrupted(of)

        def job(most: int) -> Job:
            key, work = ("patching", self.named(of), most), partial(measured, of, rgb, most)
            return Job(key, "Regions are put in, block by block", work, rough=most == ROUGH)

        rough, exact = job(ROUGH), job(FINE if self.fine else COARSE)

        def show(found: Mapping[Hashable, Any]) -> Iterator[Block]:
            best = found.get(exact.key, found.get(rough.key))
            yield from (
                self.waiting(of, rgb) if best is None else self.drawn(of, rgb, best, rough=exact.key not in found)
            )

        yield Later(of, (rough, exact), show)

    def corrupted(self, of: Subject) -> RGB:
        if self.how_corrupted == OTHER:
            return of.other_picture(self.name(of))
        if self.how_corrupted == ERASED:
            return erased(of.rgb, samples.insect(of.image).insect)
        return corrupted(of.rgb, self.how_corrupted)

    # ---- what is seen ------------------------------------------------------------------------------------------------
    def pictures(self, of: Subject, rgb: RGB, made: "Patched | None" = None) -> Iterator[Block]:
        """Both; what the model says of them as soon as that is known."""
        loaded = of.loaded
        both = (("Clean", of.rgb, made and made.clean), (f"Corrupted: {self.named(of)}", rgb, made and made.corrupted))
        for words, picture, logits in both:
            if logits is not None:
                words = f"{words}: {answer_in_words(loaded, logits)}"
            yield Picture(seen(picture, loaded.preprocessing), words, words)

    def waiting(self, of: Subject, rgb: RGB) -> Iterator[Block]:
        yield Columns((tuple(self.pictures(of, rgb)), (), ()), WIDTHS)

    def drawn(self, of: Subject, rgb: RGB, made: "Patched", rough: bool) -> Iterator[Block]:
        loaded, (target, against) = of.loaded, self.asked(of)
        rival = runner_of(made, target) if against is None and loaded.head.exclusive else against
        share = partial(restored, clean=made.clean, corrupted=made.corrupted, target=target, against=rival)
        regions, special = share(made.regions), share(made.special)
        count, rows, columns = regions.shape
        best = int(regions.flatten(1).amax(1).argmax()) + 1
        block, scale = min(self.block or best, count), robust([regions.numpy()], "%", signed=True)
        cell = divmod(self.region - 1, columns) if 0 < self.region <= rows * columns else None
        picture = under(of.seen_rgb)
        over = data_url(picture), (picture.shape[0], picture.shape[1])
        clean, worse = (float(loaded.head.values(logits)[target]) for logits in (made.clean, made.corrupted))
        taken = "which the corrupted image is taken for" if rival == int(made.corrupted.argmax()) else "the next answer"
        chosen = "" if against is not None or rival is None else f", {taken}"
        over_whom = "" if rival is None else loaded.label(rival)
        heads = None if made.heads is None else [share(logits).numpy() for logits in made.heads]
        name, tokens = loaded.label(target), made.names
        more = {"over": over_whom, "rough": rough, "heads": heads or ()}
        yield Said(of_patching(name, clean, worse, regions, special, tokens, loaded.head, **more))
        yield Answered(loaded)
        yield Line(f"{in_words(loaded, made.clean, target, rival)}{chosen}")
        ends = ((regions == end).nonzero()[0].tolist() for end in (regions.max(), regions.min()) if abs(end) >= HARM)
        named = [place for at, *place in ends if at == block - 1]
        large = restored_cells(*over, regions[block - 1].numpy(), cell, scale, named)
        here = f"What each region restores after block {block}; click one to see its run"
        every = tuple(Tile(f"block {at}", each.numpy(), scale=scale) for at, each in enumerate(regions, 1))
        first = (
            Heading(f"Restored after block {block}"),
            Chart(large, here, "", "region", (alone(every[block - 1]),)),
            *((Line(tokens),) if (tokens := restored_by(made.names, special[block - 1].tolist())) else ()),
        )
        small = Tiles(
            "After every block, on one scale: click one",
            every,
            "What each region restores after each block",
            "block",
            tuple(range(1, count + 1)),
            block,
            105,
        )
        yield Columns((tuple(self.pictures(of, rgb, made)), first, (small,)), WIDTHS)
        by_head = (
            Line("Finer regions, and what each head restores, are on their way." if rough else made.no_heads)
            if heads is None
            else Chart(head_map(heads), "What each head of each layer restores")
        )
        run = () if cell is None else (opened(of, made, block - 1, cell),)
        yield Columns(((by_head,), run))
        error = float(max((share(made.everything) - 1).abs().max(), share(made.nothing).abs().max()))
        yield Proof(of.seen, f"everything put in restores 1, nothing 0, {agreeing(error)}")
        yield Numbers(partial(numbers, made, regions.numpy(), special.numpy(), heads))


def restored_by(names: Sequence[str], shares: Sequence[float]) -> str:
    """What each special token restores by itself."""
    each = [f"the {name} token restores {percent(share)}" for name, share in zip(names, shares, strict=True)]
    return f"Put in alone, {joined(each)}." if each else ""


def alone(tile: Tile) -> Tiles:
    """On paper, where cells cannot be clicked."""
    return Tiles("", (tile,), "What each region restores", tile_px=400)


def measured(of: Subject, rgb: RGB, most: int, progress: Callable[[int, int], None]) -> "Patched":
    loaded = of.loaded
    clean = pixels_of(loaded, of.rgb)
    places = () if most == ROUGH else attention_places(loaded, clean)
    return patch(loaded, clean, pixels_of(loaded, rgb), places, most, lambda share: progress(round(100 * share), 100))


def runner_of(made: "Patched", target: int) -> int | None:
    """What the corrupted run says instead; of one that says the same, its next answer."""
    said = int(made.corrupted.argmax())
    return runner_up(made.corrupted, target) if said == target else said


def opened(of: Subject, made: "Patched", layer: int, cell: tuple[int, int]) -> Chart:
    """The answers of the corrupted run, of the clean one, and with the region put in; all from 0."""
    loaded, (row, column) = of.loaded, cell
    runs = {"corrupted": made.corrupted, "with the region": made.regions[layer, row, column], "clean": made.clean}
    listed = [*dict.fromkeys(index for logits in runs.values() for index, _ in loaded.head.top(logits, SHOWN))][:SHOWN]
    values = {name: loaded.head.values(logits) for name, logits in runs.items()}
    bars = {name: [float(each[index]) for index in listed] for name, each in values.items()}
    title = f"Row {row + 1}, column {column + 1} put in after block {layer + 1}"
    return Chart(paired_bars([loaded.label(index) for index in listed], bars, loaded.head.quantity, title), title)


def head_map(heads: Sequence[np.ndarray]) -> "object":
    """(layer, head); layers may differ in heads."""
    most = max(map(len, heads))
    grid = np.stack([np.pad(each, (0, most - len(each)), constant_values=np.nan) for each in heads])
    numbered = [[str(number) for number in range(1, count + 1)] for count in (most, len(heads))]
    return heat_map(
        grid,
        "head",
        "layer",
        "What each head restores",
        square=False,
        x_names=numbered[0],
        y_names=numbered[1],
        quantity="restored share",
        scale=robust([grid], "%", signed=True),
    ).update_yaxes(dtick=1)


def numbers(
    made: "Patched", regions: np.ndarray, special: np.ndarray, heads: Sequence[np.ndarray] | None
) -> dict[str, np.ndarray]:
    logits = {"clean": made.clean.numpy(), "corrupted": made.corrupted.numpy()}
    of_heads = {} if heads is None else {"heads": np.concatenate(heads), "heads_by_layer": np.array([*map(len, heads)])}
    return {"regions": regions, "special": special, **logits, **of_heads}
