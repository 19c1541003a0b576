"""Switched off: the same weights without the shift, or without the relative bias."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from vizkit.analysis.attribution.rollout import rollout
from vizkit.analysis.remarks import swin
from vizkit.analysis.remarks.answers import after_change
from vizkit.analysis.swin.shifted_windows import allowed, cut, window_of
from vizkit.analysis.swin.total_variation import total_variation
from vizkit.datasets import samples
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.charts import paired_bars
from vizkit.models import pixels_of
from vizkit.models import trace as traced
from vizkit.models.probes.swin_changes import changed
from vizkit.traces import Trace
from vizkit.views.blocks import (
    Answered,
    Block,
    Chart,
    Columns,
    Heading,
    Job,
    Later,
    Line,
    Map,
    Numbers,
    Said,
    Tile,
    Tiles,
    first_said,
)
from vizkit.views.controls import layer, several
from vizkit.views.rows_of import layer_for_browser
from vizkit.views.subject import Subject
from vizkit.views.swin.place import SHIFTS, Place, place, token_at
from vizkit.views.view import How, View

OFF = ("shift", "relative bias")
SHOWN_CLASSES = 3
AT_ONCE = 10_000_000  # parameters; above, the passes over the samples are made when wanted


@dataclass(frozen=True)
class SwitchedOff(View):
    """The same weights without the shift, or without the relative bias."""

    off: tuple[str, ...] = several(
        "Switched off",
        OFF,
        "Shift: every block keeps its windows where the first has them, and nothing is masked. Relative bias: the "
        "place of a key in the window has no influence. All weights stay as they were trained.",
        default=OFF[:1],
        key="swin_off",
        runs=True,
    )
    block: int | None = layer("Block", "Counted through all stages.", default=SHIFTS, plays=True, key="swin_block")

    alone: ClassVar = True
    how: ClassVar = How(
        "Left the model as it is, right the same weights with something taken out. Without the shift a token learns of "
        "other windows only through merging; without the bias it cannot distinguish near from far within its own.",
        r"\text{no shift: } s = 0 \text{ everywhere}; \qquad \text{no bias: } \mathrm{softmax}(QK^\top/\sqrt d + M)",
        "how well a model does that was trained without them; this one never learned to. Trained so from the start, "
        "Swin-T had 80.2 % (no shift) and 80.1 % (no positions) on ImageNet instead of 81.3 %.",
        "Liu et al. 2021, table 4",
    )

    def title(self, of: Subject) -> str:
        return f"Block {place(of, self.block).index + 1} {self.without()}"

    def without(self) -> str:
        return f"without {' and '.join(self.off)}" if self.off else "with nothing switched off"

    def show(self, of: Subject) -> Iterator[Block]:
        here, after = place(of, self.block), self.after(of)
        names = ("as it is", self.without())
        shifts = (here.block.shift, (0, 0) if OFF[0] in self.off else here.block.shift)
        rows = [rows_of(of, here, each, shift) for each, shift in zip((of.seen, after), shifts, strict=True)]
        token = token_at(of, here.of.tokens)
        top = max(float(each.row_of(token)[0].max()) for each in rows)  # one scale for both
        sides = [
            tuple(attention(of, here, replace(each, top=top), shift, name))
            for each, shift, name in zip(rows, shifts, names, strict=True)
        ]
        yield Columns(tuple(sides))
        head, logits, loaded = of.loaded.head, (of.seen.logits, after.logits), of.loaded
        classes = [i for both in logits for i in head.listed(both, SHOWN_CLASSES)] if loaded.classifies else []
        if self.off and head.exclusive:
            labels = [loaded.label(i) for i in range(len(after.logits))]
            was, now = (head.values(both) for both in logits)
            still = f"{self.without().capitalize()} the answer of this image stays “{labels[int(was.argmax())]}”."
            yield Said(first_said(after_change(was, now, labels, self.without().capitalize())) or still)
            yield from self.over_samples(of)
        else:
            yield Said("" if self.off else "Nothing is switched off: both sides are the same.")
        yield Line(here.words())
        rolled = [of.kept(("swin rollout", name), partial(rollout, each, "mean"))
                  for name, each in zip(names, (of.seen, after), strict=True)]  # fmt: skip
        top = max(float(each.max()) for each in rolled)
        tiles = Tiles(
            "Rollout: where the pooled output comes from",
            tuple(Tile(name, each.numpy(), unit="%") for name, each in zip(names, rolled, strict=True)),
            ((0.0, top),) * 2,
            "Rollout with and without what is switched off",
            tile_px=220,
        )
        differs = Line(f"One scale for both · {total_variation(*rolled):.1%} of the rollout lies elsewhere than before")
        chart = answers(of, names, logits, list(dict.fromkeys(classes))) if classes else ()
        yield Columns(((tiles, differs), tuple(chart)))
        yield Numbers(partial(numbers, rolled, logits))

    # ---- the changed model -------------------------------------------------------------------------------------------
    def after(self, of: Subject) -> Trace:
        """The trace of the changed model; the model itself is not touched, so others see nothing of it."""
        return of.kept(("switched off", self.off), partial(changed_trace, of, self.off)) if self.off else of.seen

    def over_samples(self, of: Subject) -> Iterator[Block]:
        """On how many samples of its classes the model is right, with and without."""
        known = {name: name.removeprefix("digit ") for name in samples.names()}
        pictures = {name: label for name, label in known.items() if label in of.loaded.labels}
        if not pictures:
            yield Line("One image proves nothing: what the change costs is seen over many.")
            return

        def work(progress: Callable[[int, int], None]) -> tuple[int, int]:
            counts = []
            for done, off in enumerate(((), self.off)):
                progress(done, 2)
                counts.append(of.kept(("right of the samples", off), partial(right, of, off, pictures)))
            return counts[0], counts[1]

        def show(results: Mapping[Any, Any]) -> Iterator[Block]:
            for own, still in results.values():
                yield Said(swin.without_over(own, still, len(pictures), " and ".join(self.off)).words)

        job = Job(("switched off", "samples", self.off), f"Asking {len(pictures)} samples", work)
        yield Later(of, (job,), show, f"Also on {len(pictures)} samples" if of.loaded.parameters > AT_ONCE else "")


def changed_trace(of: Subject, off: Sequence[str]) -> Trace:
    return traced(changed(of.loaded, shift=OFF[0] not in off, bias=OFF[1] not in off), of.rgb)


def right(of: Subject, off: Sequence[str], pictures: Mapping[str, str]) -> int:
    """How many of these samples the model without what is off calls by their labels."""
    import torch

    loaded = changed(of.loaded, shift=OFF[0] not in off, bias=OFF[1] not in off)
    pixels = torch.cat([pixels_of(loaded, samples.picture(name)) for name in pictures])
    with torch.no_grad():
        first = loaded.model(pixels.to(loaded.device)).argmax(-1).tolist()
    return sum(loaded.label(i) == label for i, label in zip(first, pictures.values(), strict=True))


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def rows_of(of: Subject, here: Place, trace: Trace, shift: tuple[int, int]) -> Rows:
    content = layer_for_browser([each for each in trace.attention if each.learned][here.index], None, of.asked, False)
    if content.values.shape[-2] < content.values.shape[-1]:  # of a very large layer only one row is sent
        return content
    windows = here.windows(shift)
    regions = cut(windows.regions, windows.window).numpy()
    return replace(content, query_regions=regions, key_regions=regions)


def attention(of: Subject, here: Place, rows: Rows, shift: tuple[int, int], name: str) -> Iterator[Block]:
    windows = here.windows(shift)
    window, position = window_of(windows, token_at(of, here.of.tokens))
    may_meet = allowed(windows, window)[position]
    yield Heading(f"Attention in block {here.index + 1}, {name}")
    yield Map(rows, of.asked, f"Attention, {name}, of", "attention", room=False)
    hidden = f"{int((~may_meet).sum())} of its {len(may_meet)} places are masked for it, hatched"
    yield Line(f"Blue: the token's window; {'nothing in it is masked' if bool(may_meet.all()) else hidden}.")


def answers(of: Subject, names: Sequence[str], logits: Sequence, classes: list[int]) -> Iterator[Block]:
    loaded = of.loaded
    if not loaded.trained:
        yield Line("Untrained: its predictions mean nothing, before or after.")
    yield Answered(loaded)
    bars = {name: loaded.head.values(both)[classes].tolist() for name, both in zip(names, logits, strict=True)}
    figure = paired_bars([loaded.label(i) for i in classes], bars, "probability", "Prediction for this image")
    figure.update_xaxes(range=[0, 1])
    yield Chart(figure, "Probability of the likeliest classes with and without the change")


def numbers(rolled: Sequence, logits: Sequence) -> dict[str, np.ndarray]:
    names = ("as_it_is", "changed")
    found = {f"rollout_{name}": each.numpy() for name, each in zip(names, rolled, strict=True)}
    return found | {f"logits_{name}": each.numpy() for name, each in zip(names, logits, strict=True)}
