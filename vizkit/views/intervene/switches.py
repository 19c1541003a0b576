"""Switches: patches hidden, erased, exchanged, pasted, heads switched off, and the answer before and after."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from vizkit.analysis.comparison.pixel_edits import FILLS, Kind, PixelEdit, box_of
from vizkit.analysis.remarks.interventions import of_answers, of_overlap
from vizkit.analysis.swin.total_variation import total_variation
from vizkit.figure.scales import SHARES, Scale
from vizkit.image import RGB, data_url
from vizkit.interventions import Changes, smallest
from vizkit.interventions.switched import Switched, edits_from, followed, in_words, paint, painted, switched
from vizkit.models.recording.edits import Edit
from vizkit.views.blocks import (
    Answered,
    Block,
    Blocks,
    Canvas,
    Columns,
    Heading,
    Hint,
    Job,
    Later,
    Numbers,
    Part,
    Picture,
    Proof,
    Said,
    Tiles,
    first_said,
)
from vizkit.views.controls import choice, layer, text
from vizkit.views.intervene.answers import Row, answers, bars, beside
from vizkit.views.intervene.changed import (
    Among,
    Place,
    asking,
    attended,
    compared,
    evidence,
    image_of,
    others,
    place,
    rolled,
    trace_of,
)
from vizkit.views.rules import RefusedError, Rule, below, maybe, number, one_of, record, several, whole, words
from vizkit.views.subject import Subject
from vizkit.views.view import How

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.traces import Trace

TOOLS = ("Hide", "Erase", "Exchange", "Paste")
FILL_WORDS = {"erase": "mean colour", "grey": "grey", "blur": "blur"}
RELEVANCE, ROLLOUT, ATTENTION = "relevance", "rollout", "attention"
MAPS = {RELEVANCE: "Relevance", ROLLOUT: "Rollout", ATTENTION: "Attention of a layer"}
NONE = "none"
TEMPERATURES = (0.1, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0)
MOST_CHARACTERS = 100_000
APART, MOST_TRIED = "|", 6  # between the changes of one try and of the next
AT_ONCE = 10_000_000  # parameters; of larger models the head that costs most is looked for while the page waits
HIDDEN, FRAME = (128, 132, 150), (245, 158, 11)


def tools(of: Sequence[Subject]) -> list[str]:
    return [*(TOOLS if all(place(each).hides for each in of) else TOOLS[1:])]


def maps(of: Sequence[Subject]) -> list[str]:
    return [*(MAPS if all(place(each).heads for each in of) else (RELEVANCE,))]


class Switches(Among):
    """Patches are hidden, erased, exchanged or pasted, heads switched off: the answer and its maps before and after."""

    changes: str = text(
        "Changes",
        "",
        "Such as “heads:3.5=0;blind:all=17”, as of the command trace, or none.",
        longest=MOST_CHARACTERS,
        key="edits",
        inside=True,
        runs=True,
    )
    brush: str | None = choice(
        "Brush",
        tools,
        "Hide: the tokens are seen by no other; where layers see other patches each, only the image changes.",
        key="brush",
    )
    fill: Literal["erase", "grey", "blur"] = choice(
        "With", FILLS, words=FILL_WORDS, key="brush_fill", listed=True, when=lambda view: view.brush == "Erase"
    )
    source: str | None = choice("From", others, key="brush_from", listed=True, when=lambda view: view.brush == "Paste")
    map: str = choice("Map", maps, words=MAPS, default=RELEVANCE, key="before_after")
    layer: int | None = layer("Layer shown", key="layer", when=lambda view: view.map == ATTENTION)
    tried: str = text(
        "Tried",
        "",
        f"Changes that were tried before, apart by “{APART}”: their maps and answers stand beside those of now.",
        longest=MOST_CHARACTERS,
        key="tried",
        inside=True,
        runs=True,
    )

    alone = True
    among = True
    how = How(
        "Before and after are the same image in the same model. A head that is off adds nothing to its layer; a "
        "hidden patch is seen by no token in any layer (a head that averages the patches still counts it); an erased, "
        "exchanged or pasted patch is seen, with other pixels. At a higher temperature a layer looks at everything "
        "more alike.",
        r"\mathrm{softmax}\left(\frac{Q K^\top}{T \sqrt{d_k}} + M\right) V, \quad M_{ij} = -\infty \text{ if } j "
        r"\text{ is hidden}",
        "what a head is for: others may do its work, or its absence may be something that the model never met; nor "
        "did it ever meet an image with a grey patch.",
        "Michel et al. 2019; Voita et al. 2019; Zeiler & Fergus 2014",
    )

    def title(self, of: Subject) -> str:
        at = place(of)
        return f"Before and after: {in_words(self.made(at), at.heads, at.special) or 'nothing changed'}"

    def show(self, of: Subject) -> Blocks:
        """What costs most is looked for once the reader has tried something."""
        at = place(of)
        job = Job(COSTLIEST, "The head, or the patch, that costs the answer most", partial(_costliest, of, at))
        if not self.tried or not of.loaded.head.bounded:
            yield from self.drawn(of, at)
        elif of.loaded.parameters > AT_ONCE:
            yield Later(of, (job,), lambda found: self.drawn(of, at))
        else:
            of.kept(COSTLIEST, partial(_costliest, of, at))
            yield from self.drawn(of, at)

    def leads(self, block: Block) -> bool:
        return isinstance(block, Canvas if self.map == RELEVANCE else Tiles)

    def made(self, at: Place) -> Changes:
        return followed(self.changes.split(";"), at.heads)

    def drawn(self, of: Subject, at: Place) -> Blocks:
        changes = self.made(at)
        before, after = trace_of(of, Changes()), trace_of(of, changes)
        image, rows = image_of(of, changes), answers(of, before, after)
        canvas = Canvas(
            "vizkit_switches",
            self.sent(of, at, changes, image, rows),
            "Patches of the image. Arrow keys move, the space bar paints.",
            {"switched": (self.told(at, changes), ("changes", "tried"))},
            tuple(on_paper(of, at, changes, image, before, after)),
        )
        moved = self.moved(of, at, changes)
        answered = "" if self.staged and moved else self.said(of, at, rows, changes)
        yield Said(" ".join(filter(None, (answered, moved))))
        yield Answered(of.loaded)
        yield Hint(f"Which {'head' if at.heads else 'patch'} does it need most? Take one away, and see.")
        if not at.hides:
            yield Hint(f"No patch can be hidden in {of.name}: its layers do not all see the same patches.")
        yield Columns(((canvas,), (Part(partial(self.tries, of, at, changes)),)), (3, 2))
        yield Proof(after)
        yield from beside(of, at, changes)
        yield Numbers(lambda: {"logits_before": before.logits.numpy(), "logits_after": after.logits.numpy()})

    def said(self, of: Subject, at: Place, rows: "Sequence[Row]", changes: Changes) -> str:
        head = of.loaded.head
        count = f"{sum(at.heads)} heads" if at.heads else f"{at.grid[0] * at.grid[1]} patches"
        names, before, after = zip(*((each.name, each.before, each.after) for each in rows), strict=True)
        if not changes:
            if of.among:  # of its own likeness, which is 1, there is nothing to say
                nearest = f"{names[1]}, at a likeness of {head.text(before[1])}"
                return f"With all {count} the nearest other image is {nearest}."
            answer = f"the answer is {names[0]}" if head.probable else f"the {names[0]} is"
            wrong = {" ✓": ", which is right", " ✗": ", which is wrong"}.get(rows[0].mark, "")
            return f"With all {count} {answer} {head.text(before[0])}{wrong}."
        remark = first_said(of_answers(names, before, after, in_words(changes, at.heads, at.special), head))
        now, costliest = switched(changes.model, at.heads, at.special), of.find(COSTLIEST)
        if at.heads and (changes.pixels or now.cells):
            return remark  # of patches: a head is no measure of them
        if costliest == changes.texts:
            return f"{remark} Taken away alone, none of the {count} costs the answer more."
        if costliest and (left := self.left(of, self.most(of, at))) < self.left(of, trace_of(of, changes)):
            return f"{remark} One of the {count}, taken away alone, takes it to {head.text(left)}."
        return remark

    def most(self, of: Subject, at: Place) -> "Trace":
        return trace_of(of, followed(of.find(COSTLIEST), at.heads))

    def left(self, of: Subject, trace: "Trace") -> float:
        """Of the answer to the unchanged image."""
        head = of.loaded.head
        return float(head.values(trace.logits)[head.target(of.seen.logits)])

    def earlier(self) -> list[str]:
        return [each for each in self.tried.split(APART) if each]

    # ---- the canvas --------------------------------------------------------------------------------------------------
    def kind(self) -> Kind:
        return "swap" if self.brush == "Exchange" else "paste" if self.brush == "Paste" else self.fill

    def sent(self, of: Subject, at: Place, changes: Changes, image: RGB, rows: "Sequence[Row]") -> dict[str, Any]:
        now, head = switched(changes.model, at.heads, at.special), of.loaded.head
        tool = self.brush or tools([of])[0]
        stroke = tool in ("Erase", "Paste")
        hot, costliest = dict(now.hot), of.find(COSTLIEST) or ()
        return {
            # another visitor may have found it already: it is offered to who has tried something
            "costliest": ";".join(costliest) if self.tried and costliest != changes.texts else "",
            "changes": ";".join(changes.texts) or NONE,
            "of": f"{of.loaded.source} {tool}",
            "seen": data_url(image),
            "ratio": image.shape[0] / image.shape[1],
            "grid": at.grid,
            "heads": at.heads,
            "edited": edited(at, changes),
            "hidden": now.cells,
            "off": tuple(f"{layer}.{head}" for layer, head in now.off),
            "hot": tuple(hot.get(layer, 1.0) for layer in range(len(at.heads))),
            "temperatures": sorted({*TEMPERATURES, *hot.values()}),
            "tool": tool,
            "painted": painted(changes.pixels, self.kind(), at.grid, self.pasted(of)) if stroke else (),
            "answers": tuple(each.sent(head) for each in rows),
        }

    def pasted(self, of: Subject) -> str:
        return (self.source or next(iter(others([of])), "")) if self.brush == "Paste" else ""

    def told(self, at: Place, changes: Changes) -> Rule[tuple[str, str]]:
        """What is switched or painted, as the changes that follow, or changes that were made before; and with them all
        that was tried."""
        count = at.grid[0] * at.grid[1]
        cells, depth = several(below(count), count), len(at.heads)
        names = {f"{layer}.{head}": (layer, head) for layer, many in enumerate(at.heads) for head in range(many)}
        rule = record(
            number=whole(0, 2**53),
            back=maybe(words(MOST_CHARACTERS)),
            hidden=cells,
            off=several(one_of(names), len(names)),
            hot=several(number(1e-3, 1e6), depth),
            tool=one_of(TOOLS),
            painted=cells,
        )

        def read(told: object) -> tuple[str, str]:
            heard = rule(told)
            if heard["back"] == NONE:
                return NONE, ""
            made = following(heard)
            tried = dict.fromkeys([*self.earlier(), ";".join(changes.texts), made])
            return made, APART.join([each for each in tried if each not in ("", NONE)][-MOST_TRIED:])

        def following(heard: dict[str, Any]) -> str:
            if heard["back"] is not None:
                return ";".join(followed(heard["back"].split(";"), at.heads).texts) or NONE
            if heard["tool"] == "Exchange" and len(heard["painted"]) not in (0, 2):
                raise RefusedError
            was, pixels = switched(changes.model, at.heads, at.special), changes.pixels
            if heard["tool"] != "Hide":
                pixels = self.stroke(pixels, at, heard["tool"], heard["painted"])
            off = tuple(sorted(names[name] for name in heard["off"]))
            now = Switched(heard["hidden"], off, tuple(enumerate(heard["hot"])), was.rest)
            return ";".join(map(str, (*pixels, *edits_from(now, at.heads, at.special)))) or NONE

        return read

    def stroke(self, pixels: Sequence[PixelEdit], at: Place, tool: str, cells: tuple[int, ...]) -> Sequence[PixelEdit]:
        if tool != self.brush and self.brush is not None:
            return pixels  # a stroke of the brush before
        if tool == "Exchange" and not cells:
            return pixels
        image = self.source or "" if tool == "Paste" else ""
        if tool == "Paste" and not image:
            raise RefusedError
        return paint(pixels, self.kind(), at.grid, image, cells)

    # ---- the maps ----------------------------------------------------------------------------------------------------
    def tries(self, of: Subject, at: Place, changes: Changes) -> Blocks:
        """Of the model as it is, and of everything that was tried; a click goes back to it."""
        known = [Changes(), *(followed(each.split(";"), at.heads) for each in self.earlier()), changes]
        tries = list({each.texts: each for each in known}.values())
        texts, now = [";".join(each.texts) or NONE for each in tries], ";".join(changes.texts) or NONE
        traces = [trace_of(of, each) for each in tries]
        names = [in_words(each, at.heads, at.special) or "nothing changed" for each in tries]
        title, shown, scale = self.looked(of, at, traces)
        yield from compared(
            title,
            shown,
            [f"{name}: {of.loaded.head.text(self.left(of, trace))}" for name, trace in zip(names, traces, strict=True)],
            scale,
            texts.index(now),
            picks=("changes", "tried"),
            values=tuple((text, APART.join(texts[1:])) for text in [*texts, *([now] if changes else [])]),
            chosen=(now, APART.join(texts[1:])),
        )

    def looked(self, of: Subject, at: Place, traces: "Sequence[Trace]") -> "tuple[str, Sequence[Tensor], Scale]":
        """What is compared, its map in every trace, (row, column), and their scale."""
        if self.map == RELEVANCE or not at.heads:
            title, shown = evidence(of, traces)
            return title, shown, replace(SHARES, unit="", equal=float(shown[0].mean()))
        (query, who), number = asking(of), min(self.layer or len(at.heads), len(at.heads))
        where = "through all layers" if self.map == ROLLOUT else f"in layer {number}"
        shown = [rolled(each, query) if self.map == ROLLOUT else attended(each, query, number) for each in traces]
        return f"Where {who} looks {where}", shown, SHARES

    def moved(self, of: Subject, at: Place, changes: Changes) -> str:
        """How much of where a query looks is where it looked before; "" of a map of evidence."""
        if self.map == RELEVANCE or not at.heads or not changes:
            return ""
        title, (before, after), _ = self.looked(of, at, [trace_of(of, Changes()), trace_of(of, changes)])
        return of_overlap(title, 1 - total_variation(before, after))


# ---- what costs most ------------------------------------------------------------------------------------------------
COSTLIEST = ("costliest",)


def _costliest(of: Subject, at: Place, progress: Any = lambda done, total: None) -> tuple[str, ...]:
    """The change that takes the most from the lead of the answer: of one head, or of one patch."""
    if at.heads:
        found, names = smallest.heads(of.loaded, of.rgb, "flip", most=1, tried=progress)
        return tuple(str(Edit("heads", *names[part])) for part in found.order)
    found = smallest.patches(of.loaded, of.rgb, at.grid, "flip", most=1, tried=progress)
    return tuple(str(PixelEdit("erase", at.grid, (part,))) for part in found.order)


# ---- what is seen ----------------------------------------------------------------------------------------------------
def on_paper(of: Subject, at: Place, changes: Changes, image: RGB, before: "Trace", after: "Trace") -> Blocks:
    """The image as it is painted, the heads that are off, and the answers."""
    now = switched(changes.model, at.heads, at.special)
    drawn = image.copy()
    for cell in now.cells:
        drawn[box_of(drawn.shape[:2], at.grid, cell)] = HIDDEN
    zoom = max(1, -(-320 // drawn.shape[1]))
    drawn = drawn.repeat(zoom, 0).repeat(zoom, 1)
    for cell in edited(at, changes):
        framed(drawn[box_of(drawn.shape[:2], at.grid, cell)])
    picture = (Heading("Image"), Picture(drawn, "The image as it is changed"))
    yield Columns((picture, (Heading("Answers"), bars(of, before, after))))


def edited(at: Place, changes: Changes) -> tuple[int, ...]:
    """The cells whose pixels are others."""
    return tuple(sorted({cell for edit in changes.pixels if edit.grid == at.grid for cell in edit.cells}))


def framed(pixels: RGB) -> None:
    pixels[[0, 1, -2, -1]] = pixels[:, [0, 1, -2, -1]] = FRAME
