"""Switched off: the same weights without the shift, or without the relative bias."""

from collections.abc import Mapping, Sequence
from functools import partial

from vizkit.analysis.attention.attention_map import layers
from vizkit.analysis.attribution.rollout import rollout
from vizkit.analysis.remarks import swin
from vizkit.analysis.remarks.answers import after_change
from vizkit.analysis.swin.shifted_windows import Layout, allowed, cut, window_of
from vizkit.analysis.swin.total_variation import total_variation
from vizkit.datasets import samples
from vizkit.figure.canvas.rows import Rows
from vizkit.figure.charts import paired_bars
from vizkit.figure.scales import SHARES
from vizkit.models import Loaded, pixels_of
from vizkit.models import trace as traced
from vizkit.models.probes.swin_changes import changed
from vizkit.percent import in_percent
from vizkit.traces import Trace
from vizkit.views.blocks import (
    Answered,
    Block,
    Blocks,
    Chart,
    Heading,
    Job,
    Later,
    Line,
    Map,
    Numbers,
    Said,
    first_said,
    side_by_side,
)
from vizkit.views.controls import layer, several
from vizkit.views.intervene.changed import compared
from vizkit.views.subject import Subject
from vizkit.views.swin.place import SHIFTS, Place, in_windows, place, point, token_at
from vizkit.views.view import How, View

OFF = ("shift", "relative bias")
SHOWN_CLASSES = 3
AT_ONCE = 10_000_000  # parameters; above, the passes over the samples are made when wanted


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

    alone = True
    how = How(
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

    def leads(self, block: Block) -> bool:
        return getattr(block, "label", "").startswith("Attention, without")

    def show(self, of: Subject) -> Blocks:
        here, both = place(of, self.block), (of.seen, self.after(of))
        names = ("as it is", self.without())
        said, *later = self.said(of, *both)
        yield said
        windows = here.windows(), here.windows((0, 0) if OFF[0] in self.off else None)
        rows = [
            in_windows(of, layers(trace)[here.index], None, cut(each.regions, each.window))
            for trace, each in zip(both, windows, strict=True)
        ]
        sides = zip(rows, windows, names, strict=True)
        yield side_by_side(*(attention(of, here, each, lie, name) for each, lie, name in sides))
        yield from later
        yield Line(here.words())
        rolled = [
            of.kept(("swin rollout", name), partial(rollout, each, "mean"))
            for name, each in zip(names, both, strict=True)
        ]
        tiles = compared("Rollout: where the pooled output comes from", rolled, names, SHARES)
        differs = Line(f"{in_percent(total_variation(*rolled))} of the rollout lies elsewhere than before")
        yield side_by_side((differs, *tiles), answers(of, names, both))
        arrays = {"rollout": rolled, "logits": [each.logits for each in both]}
        kinds = ("as_it_is", "changed")
        yield Numbers(
            lambda: {f"{what}_{kind}": pair[n] for what, pair in arrays.items() for n, kind in enumerate(kinds)}
        )

    # ---- the changed model -------------------------------------------------------------------------------------------
    def after(self, of: Subject) -> Trace:
        """The trace of the changed model; the model itself is not touched, so others see nothing of it."""
        return of.kept(("switched off", self.off), partial(changed_trace, of, self.off)) if self.off else of.seen

    def said(self, of: Subject, seen: Trace, after: Trace) -> Blocks:
        """On how many samples of its classes the model is right, with and without, and what it says of this image."""
        loaded, without = of.loaded, self.without()
        if not (self.off and loaded.head.exclusive):
            yield Said("" if self.off else "Nothing is switched off: both sides are the same.")
            return
        labels = [loaded.label(i) for i in range(len(after.logits))]
        was, now = (loaded.head.values(each.logits) for each in (seen, after))
        known = {name: name.removeprefix("digit ") for name in samples.names()}
        pictures = {name: label for name, label in known.items() if label in loaded.labels}
        one = "On this image" if pictures else f"{without.capitalize()}, on this image,"
        here = (
            first_said(after_change(was, now, labels, one)) or f"{one} the answer stays “{labels[int(was.argmax())]}”."
        )

        def over(_progress: object = None) -> str:
            own, still = (
                of.kept(("right of the samples", off), partial(right, of, off, pictures)) for off in ((), self.off)
            )
            return swin.without_over(own, still, len(pictures), without)

        if not pictures:
            yield Said(f"{here} One image proves nothing: what the change costs is seen over many.")
        elif loaded.parameters <= AT_ONCE:
            yield Said(f"{over()} {here}")
        else:
            yield Said(f"{here} One image proves nothing.")
            job = Job(("switched off", "samples", self.off), f"Asking {len(pictures)} samples", over)
            yield Later(of, (job,), lambda found: map(Said, found.values()), f"Also on {len(pictures)} samples")


def changed_model(of: Subject, off: Sequence[str]) -> Loaded:
    return changed(of.loaded, shift=OFF[0] not in off, bias=OFF[1] not in off)


def changed_trace(of: Subject, off: Sequence[str]) -> Trace:
    return traced(changed_model(of, off), of.rgb)


def right(of: Subject, off: Sequence[str], pictures: Mapping[str, str]) -> list[str]:
    """Which of these samples the model without what is off calls by their labels."""
    import torch

    loaded = changed_model(of, off)
    pixels = torch.cat([pixels_of(loaded, samples.picture(name)) for name in pictures])
    with torch.no_grad():
        first = loaded.model(pixels.to(loaded.device)).argmax(-1).tolist()
    return [name for i, (name, label) in zip(first, pictures.items(), strict=True) if loaded.label(i) == label]


# ---- what is drawn ---------------------------------------------------------------------------------------------------
def attention(of: Subject, here: Place, rows: Rows, windows: Layout, name: str) -> tuple[Block, ...]:
    window, position = window_of(windows, token_at(of, here.of.tokens))
    may_meet = allowed(windows, window)[position]
    hidden = f"{int((~may_meet).sum())} of its {len(may_meet)} places are masked for it, hatched"
    return (
        Heading(f"Attention in block {here.index + 1}, {name}"),
        Map(rows, point(of), f"Attention, {name}, of", "attention", room=False),
        Line(f"Cyan: the token's window; {'nothing in it is masked' if bool(may_meet.all()) else hidden}."),
    )


def answers(of: Subject, names: Sequence[str], both: Sequence[Trace]) -> Blocks:
    loaded, head = of.loaded, of.loaded.head
    if not loaded.classifies:
        return
    if not loaded.trained:
        yield Line("Untrained: its predictions mean nothing, before or after.")
    yield Answered(loaded)
    classes = list(dict.fromkeys(i for each in both for i in head.listed(each.logits, SHOWN_CLASSES)))
    bars = {name: head.values(each.logits)[classes].tolist() for name, each in zip(names, both, strict=True)}
    figure = paired_bars([loaded.label(i) for i in classes], bars, "probability", "Prediction for this image")
    figure.update_xaxes(range=[0, 1])
    yield Chart(figure, "Probability of the likeliest classes with and without the change")
