"""Enlarge: a small picture four times as large, and where in the reference each place took its texture."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np

from vizkit.analysis.remarks.super_resolution import of_reference, of_trust
from vizkit.datasets.pairs.any_picture import pair_of, pair_with, truth_known
from vizkit.datasets.pairs.drawn import RGB, Pair
from vizkit.datasets.samples import INSECTS
from vizkit.figure.canvas.rows import sixteen_bits, text64
from vizkit.figure.palette import colours
from vizkit.figure.saved.transfer import Transfer
from vizkit.image import data_url, digest_of
from vizkit.views.blocks import Blocks, Canvas, Download, Metrics, Numbers, Paper, Said
from vizkit.views.controls import choice, number, query, switch
from vizkit.views.rules import below, tuple_of, whole
from vizkit.views.subject import Subject
from vizkit.views.super_resolution.likeness import worth
from vizkit.views.super_resolution.networks import WITH, Results, enlarger, results
from vizkit.views.view import How, View

LEVELS = {
    "same": "same scene, moved",
    "kind": "same kind",
    "other": "another kind",
    "picture": "a photograph",
    "shuffled": "its pixels shuffled",
    "noise": "noise",
}
TURNS = {degrees: f"{degrees}°" for degrees in ("0", "90", "180", "270")}
SIZES = {pixels: f"{pixels} px" for pixels in ("16", "24", "32")}
ONE, MIXTURE, NOTHING, ERROR, TRUTH = "one place", "mixture of all", "nothing", "error", "truth"
WAYS = ("bicubic", "without reference", TRUTH)
OVERLAYS = {
    NOTHING: "",
    "S": "S, relevance of the best place",
    "gate 1×": "gate 1×, let through",
    "gate 2×": "gate 2×, let through",
    "gate 4×": "gate 4×, let through",
    ERROR: "error, mean of the channels",
}
FARTHEST_PX = 127  # a reference has 128 pixels at most
BRIGHTEST_ERROR = 0.2
"""Mean absolute difference of a pixel's channels, of 1, that has the brightest colour."""
CHANGED = "changed"
ALT = "The small image, the enlarged one, its reference and the true image. Arrow keys choose a place."
SAYS = {
    ONE: "Row {row}, column {column} takes its texture from row {of_row}, column {of_column} of the reference: "
    "relevance {relevance}; the network lets at most {gate} of that texture through.",
    MIXTURE: "Row {row}, column {column} is most like row {of_row}, column {of_column} of the reference, relevance "
    "{relevance}, but takes a mixture of all places; the network lets at most {gate} of it through.",
}


def references(of: Sequence[Subject]) -> list[str]:
    """Graded likeness, of a drawn insect its own kind too, then other pictures."""
    levels = [level for level in LEVELS if level != "kind" or any(each.image in INSECTS for each in of)]
    return [*levels, *(name for each in of[:1] for name in each.others)]


def where_known(*names: str) -> Callable[..., Sequence[str]]:
    """The last only where the truth is known."""
    return partial(_known, names)


def _known(names: Sequence[str], of: Sequence[Subject], view: "Enlarge") -> Sequence[str]:
    return names if all(truth_known(each.rgb, int(view.side)) for each in of) else names[:-1]


class Enlarge(View):
    """Every place of the enlarged picture takes its missing texture from a place of the reference."""

    reference: str = choice(
        "Reference",
        references,
        "What the missing texture is taken from. Your uploads of the sidebar are listed, too.",
        default="same",
        words=LEVELS,
        key="sr_reference",
        listed=True,
        pictures=True,
        runs=True,
    )
    turn: Literal["0", "90", "180", "270"] = choice(
        "Reference turned by", tuple(TURNS), words=TURNS, key="sr_turn", more=True, runs=True
    )
    moved: int = number(
        "Moved right by",
        0,
        FARTHEST_PX,
        0,
        "The reference, in its pixels; what leaves it on one side comes in on the other.",
        key="sr_moved",
        inside=True,
        runs=True,
    )
    side: Literal["16", "24", "32"] = choice(
        "Small picture",
        tuple(SIZES),
        "The longer side of the picture of the sidebar, shrunk; four times as large is what it is enlarged to.",
        default="24",
        words=SIZES,
        key="sr_side",
        more=True,
        runs=True,
    )
    texture: Literal["one place", "mixture of all"] = choice(
        "Texture of",
        (ONE, MIXTURE),
        "Hard attention takes the texture of the most relevant place. A softmax mixes all places, as in a transformer, "
        "and blurs.",
        key="sr_texture",
        more=True,
    )
    beside: Literal["bicubic", "without reference", "truth"] = choice(
        "Left of the bar", where_known(*WAYS), default=WAYS[0], key="sr_beside", more=True, follows=True
    )
    over: Literal["nothing", "S", "gate 1×", "gate 2×", "gate 4×", "error"] = choice(
        "Laid over the result",
        where_known(*OVERLAYS),
        "S: how like the best place of the reference is. Gate: how much of its texture is let through, at each scale.",
        default=NOTHING,
        key="sr_over",
        more=True,
        follows=True,
    )
    levels: bool = switch(
        "Compare kinds of reference",
        "What each kind adds on average, over 500 drawn scenes that no network has seen.",
        key="sr_levels",
        more=True,
    )
    place: str | tuple[int, int] = query(
        "Place",
        "Of the small picture; by default that which the reference changed most.",
        options=(CHANGED, "patch"),
        default=CHANGED,
        words={CHANGED: "most changed"},
        key="sr_place",
        inside=True,
    )

    overlays = False
    how = How(
        "Drag the bar to compare. Drag the reference, or press Shift and an arrow key: the arrow follows the texture, "
        "and the dB say what it is still worth. A click chooses a place of the small picture: the arrow comes from the "
        "place of the reference that is most like it, whose texture it takes; bright places of the reference are like "
        "it, too.",
        r"h_i = \arg\max_j r_{ij},\quad r_{ij} = \frac{\langle q_i, k_j\rangle}{\lVert q_i\rVert\,\lVert k_j\rVert},"
        r"\quad S_i = \max_j r_{ij},\quad F \leftarrow F + \mathrm{Conv}([F; T]) \odot \sigma(10\,a\,(S - b))",
        "what the picture really held: texture that fits is put in, whether or not it was there.",
        "Yang et al. 2020, with the gate σ added here",
    )

    def title(self, of: Subject) -> str:
        turned = f", turned by {TURNS[self.turn]}" if self.turn != "0" else ""
        moved = f", moved by {self.moved} px" if self.moved else ""
        return f"Enlarged four times by a reference: {LEVELS.get(self.reference, self.reference)}{turned}{moved}"

    def show(self, of: Subject) -> Blocks:
        pair, key = self.pair(of)
        made = results(of, pair, key)
        drawn, seen = self.drawn(of, made), made.seen
        data = {
            "small": data_url(pair.small),
            "beside": data_url(drawn.left),
            "own": data_url(drawn.right),
            "reference": data_url(seen.reference),
            "truth": data_url(pair.truth) if pair.truth.size else "",
            "titles": drawn.titles,
            "grid": seen.grid,
            "key_grid": seen.key_grid,
            "place": seen.place.tolist(),
            "gate": [round(share, 3) for share in made.gates.tolist()],
            "relevance": text64(sixteen_bits((seen.queries.T @ seen.keys).numpy(), -1.0, 1.0)),
            "over": None
            if drawn.over is None
            else text64((drawn.over / drawn.over_top * 255).round().astype(np.uint8)),
            "over_size": None if drawn.over is None else drawn.over.shape,
            "over_words": drawn.over_words,
            "over_top": drawn.over_top,
            "colours": text64(colours()),
            "at": drawn.at,
            "moved": self.moved,
            "says": drawn.says,
        }
        tells = {"at": (tuple_of(*map(below, seen.grid)), "place"), "moved": (whole(0, FARTHEST_PX), "moved")}
        canvas = Canvas("vizkit_transfer", data, ALT, tells, (Paper(drawn.marks),))
        known, trusted = made.qualities, float((made.gates > 0.5).mean())
        if known:
            way = known["with" if self.texture == ONE else "mixture"]
            plain, bicubic = known["without"], known["bicubic"]
            yield Said(of_reference(way.psnr, plain.psnr, bicubic.psnr, trusted))
            yield canvas
            ways = {"With the reference": way, "Without": plain, "Bicubic": bicubic}
            yield Metrics(tuple((name, f"{each.psnr:.2f} dB", f"SSIM {each.ssim:.3f}") for name, each in ways.items()))
        else:
            yield Said(of_trust(trusted))
            yield canvas
        if self.levels:
            yield from worth(of)
        yield Numbers(partial(self.numbers, made))
        yield Download("Trace of the attention (NPZ)", partial(self.trace, of, pair))

    def pair(self, of: Subject) -> tuple[Pair, tuple[str, ...]]:
        """What is enlarged and by what, and what tells it from others of this picture."""
        side, kind, name = int(self.side), of.image if of.image in INSECTS else "", self.reference
        if name in LEVELS:
            key, make = f"{name} {kind}", partial(pair_of, of.rgb, name, side, kind)
        else:
            other = of.other_picture(name)
            key, make = digest_of(other), partial(pair_with, of.rgb, other, side)
        pair: Pair = of.kept(("pair", key, side), make)
        turned = np.rot90(pair.reference, int(self.turn) // 90)
        return pair._replace(reference=np.roll(turned, self.moved, 1)), (key, self.side, self.turn, str(self.moved))

    def drawn(self, of: Subject, made: Results) -> Transfer:
        """The pictures, with the chosen place and that whose texture it takes."""
        seen, truth = made.seen, made.pair.truth
        own = seen.hard if self.texture == ONE else seen.mixture
        rows, columns = seen.grid
        if self.place == "patch":
            row, column = int(of.point[1] * rows), int(of.point[0] * columns)
        else:
            row, column = self.place if isinstance(self.place, tuple) else made.changed
        at = min(row, rows - 1), min(column, columns - 1)
        index = at[0] * columns + at[1]
        taken = divmod(int(seen.place[index]), seen.key_grid[1])
        over = overlaid(self.over, made, own)
        network = "with the reference" if self.texture == ONE else "mixture of all places"
        return Transfer(
            small=made.pair.small,
            left={"bicubic": seen.bicubic, "without reference": made.without, TRUTH: truth}[self.beside],
            right=own,
            reference=seen.reference,
            truth=truth,
            titles=("true" if self.beside == TRUTH else self.beside, network),
            at=at,
            taken=taken,
            relevance=seen.map_of(index).numpy(),
            gate=float(made.gates[index]),
            says=SAYS[self.texture],
            over=over,
            over_top=BRIGHTEST_ERROR if self.over == ERROR else 1.0,
            over_words=OVERLAYS[self.over],
        )

    def numbers(self, made: Results) -> dict[str, np.ndarray]:
        """All pictures, and where each place took its texture."""
        seen, pair = made.seen, made.pair
        return {
            "small": pair.small,
            "reference": seen.reference,
            "result": seen.hard if self.texture == ONE else seen.mixture,
            "without": made.without,
            "bicubic": seen.bicubic,
            "truth": pair.truth,
            "place": seen.place.numpy(),
            "relevance": seen.relevance.numpy(),
        }

    def trace(self, of: Subject, pair: Pair) -> bytes:
        from vizkit.models.super_resolution import trace
        from vizkit.saving import npz_bytes

        return npz_bytes(trace(enlarger(of, WITH), pair.small, pair.reference))


def overlaid(over: str, made: Results, own: RGB) -> "np.ndarray | None":
    """What is laid over the result, (row, column), from 0 to the brightest colour."""
    if over == NOTHING:
        return None
    if over == ERROR:
        return np.clip(np.abs(own.astype(np.float32) - made.pair.truth).mean(2) / 255, 0, BRIGHTEST_ERROR)
    values = made.seen.relevance if over == "S" else made.seen.gates[list(OVERLAYS).index(over) - 2]
    return values.reshape(made.seen.grid).clamp(0, 1).numpy()
