"""Enlarge: an image four times as large, and where in the reference each place took its texture."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from vizkit.analysis.remarks.super_resolution import (
    of_likeness_to_truth,
    of_reference,
    of_same,
    of_tiles,
    of_trust,
)
from vizkit.datasets.pairs.any_picture import pair_of, pair_with, truth_known
from vizkit.datasets.pairs.drawn import RGB, Pair
from vizkit.datasets.samples import INSECTS
from vizkit.figure.canvas.rows import sixteen_bits, text64
from vizkit.figure.saved.transfer import NO_PICTURE, Part, Transfer, around
from vizkit.image import digest_of
from vizkit.views.blocks import Blocks, Canvas, Download, Hint, Later, Line, Numbers, Paper, Said
from vizkit.views.controls import choice, number, query
from vizkit.views.rules import below, tuple_of, whole
from vizkit.views.subject import Subject
from vizkit.views.super_resolution.likeness import LEVELS, worth
from vizkit.views.super_resolution.networks import WITH, Results, enlarger, results
from vizkit.views.super_resolution.whole import (
    PART_HW,
    Tiles,
    bicubic,
    filled,
    jobs_of,
    judged,
    larger,
    png_of,
    seen_around,
    sharpest,
    tiles_of,
)
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from vizkit.models.super_resolution import Seen

TURNS = {degrees: f"{degrees}°" for degrees in ("0", "90", "180", "270")}
WHOLE, NO_REFERENCE = "whole", "no reference"
AT_ONCE = 30  # tiles, a minute or so: more are begun by a press
SIZES = {pixels: f"{pixels} px" for pixels in ("16", "24", "32")} | {WHOLE: "as it is"}
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
BLURRED = "blurred"
NEARER = 3
ALT = (
    "The input, the enlarged image, its reference and the true image. Arrow keys choose a place, Page Up and Page Down "
    "move the bar between two of them."
)
SAYS = {
    ONE: "The framed place takes its texture from where the arrow begins: relevance {relevance} of 1, so the network "
    "lets up to {gate} of it in at this place.",
    MIXTURE: "The framed place is most like that where the arrow begins, relevance {relevance} of 1, but takes a "
    "mixture of all places; the network lets up to {gate} of it in at this place.",
}
TOLD = (
    " In the tiles below the result is off the true image by {own} of full brightness on average, that without a "
    "reference by {plain}, bicubic interpolation by {bicubic}."
)
MOVED = (
    " Moved, the reference has all its pixels still, for what leaves it on one side comes in on the other: it may be "
    "worth more as well as less."
)
NO_COPY = (
    "Nobody knows this image four times as large, so no copy of it can be the reference; without a reference the "
    "network has no attention to show."
)


def references(of: Sequence[Subject]) -> list[str]:
    """Graded likeness, of a drawn insect its own kind too, then other images."""
    levels = [level for level in LEVELS if level != "kind" or any(each.image in INSECTS for each in of)]
    return [*levels, *others(of)]


def others(of: Sequence[Subject]) -> list[str]:
    return [name for each in of[:1] for name in each.others]


def shrunk(view: "Enlarge") -> bool:
    return not view.as_it_is


def as_it_is(view: "Enlarge") -> bool:
    return view.as_it_is


def place_of(what: str, key: str, when: Callable[["Enlarge"], bool]) -> Any:
    help = f"By default that of {what} which bicubic interpolation blurs most."
    more: Any = {"options": (BLURRED, "patch"), "belongs": ("image", "side"), "key": key, "when": when}
    return query("Place", help, default=BLURRED, words={BLURRED: "most blurred"}, inside=True, **more)


def where_known(*names: str) -> Callable[..., Sequence[str]]:
    """The last only where the truth is known."""
    return partial(_known, names)


def _known(names: Sequence[str], of: Sequence[Subject], view: "Enlarge") -> Sequence[str]:
    return names if not view.as_it_is and all(truth_known(each.rgb, int(view.side)) for each in of) else names[:-1]


class Enlarge(View):
    """Every place of the enlarged image takes its missing texture from a place of the reference."""

    side: Literal["16", "24", "32", "whole"] = choice(
        "Input",
        tuple(SIZES),
        "The image of the sidebar, its longer side shrunk to so many pixels, so that the true image is known; or as it "
        "is, in tiles, one part shown in full size.",
        default="24",
        words=SIZES,
        key="sr_side",
        runs=True,
    )
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
        when=shrunk,
    )
    second: str = choice(
        "Reference",
        lambda of: [NO_REFERENCE, *others(of)],
        "An image that shows the same thing from nearer, best one of your uploads in the sidebar. One of more than "
        "512 × 512 pixels is shrunk.",
        default=NO_REFERENCE,
        words={NO_REFERENCE: NO_REFERENCE},
        key="sr_whole_reference",
        listed=True,
        pictures=True,
        runs=True,
        when=as_it_is,
    )
    turn: Literal["0", "90", "180", "270"] = choice(
        "Reference turned by", tuple(TURNS), words=TURNS, key="sr_turn", more=True, runs=True, when=shrunk
    )
    moved: int = number(
        "Moved right by",
        0,
        FARTHEST_PX,
        0,
        "The reference, in its pixels; what leaves it on one side comes in on the other.",
        key="sr_moved",
        inside=True,
        belongs=("image", "reference"),
        runs=True,
        when=shrunk,
    )
    texture: Literal["one place", "mixture of all"] = choice(
        "Texture of",
        (ONE, MIXTURE),
        "Hard attention takes the texture of the most relevant place. A softmax mixes all places, as in a transformer, "
        "and blurs.",
        key="sr_texture",
        more=True,
        when=shrunk,
    )
    beside: Literal["bicubic", "without reference", "truth"] = choice(
        "Left of the bar", where_known(*WAYS), default=WAYS[0], key="sr_beside", follows=True, when=shrunk
    )
    over: Literal["nothing", "S", "gate 1×", "gate 2×", "gate 4×", "error"] = choice(
        "Laid over the result",
        where_known(*OVERLAYS),
        "S: how like the best place of the reference is. Gate: how much of its texture is let through, at each scale.",
        default=NOTHING,
        key="sr_over",
        more=True,
        follows=True,
        when=shrunk,
    )
    place: str | tuple[int, int] = place_of("the input", "sr_place", shrunk)
    spot: str | tuple[int, int] = place_of("the part on show of the image as it is", "sr_spot", as_it_is)

    overlays = False
    how = How(
        "Drag the bar to compare. A click chooses a place of the input: the arrow comes from the place of the "
        "reference that is most like it, whose texture it takes; bright places of it are like it, too. Drag the "
        "reference, or press Shift and an arrow key: the arrow follows the texture. The image as it is is cut into "
        "tiles of 48 × 48 pixels; the network sees 32 more on each side, so that no seam is left.",
        r"h_i = \arg\max_j r_{ij},\quad r_{ij} = \frac{\langle q_i, k_j\rangle}{\lVert q_i\rVert\,\lVert k_j\rVert},"
        r"\quad S_i = \max_j r_{ij},\quad F \leftarrow F + \mathrm{Conv}([F; T]) \odot \sigma(10\,a\,(S - b))",
        "what the image really held: texture that fits is put in, whether or not it was there.",
        "Yang et al. 2020, with the gate σ added here",
    )

    @property
    def as_it_is(self) -> bool:
        return self.side == WHOLE

    def title(self, of: Subject) -> str:
        if self.as_it_is:
            by = "" if self.second == NO_REFERENCE else f" by a reference: {self.second}"
            return f"The image as it is, enlarged four times{by}"
        turned = f", turned by {TURNS[self.turn]}" if self.turn != "0" else ""
        moved = f", moved by {self.moved} px" if self.moved else ""
        return f"Enlarged four times by a reference: {LEVELS.get(self.reference, self.reference)}{turned}{moved}"

    def show(self, of: Subject) -> Blocks:
        yield from self.whole(of) if self.as_it_is else self.by_reference(of)

    def by_reference(self, of: Subject) -> Blocks:
        pair, key = self.pair(of)
        made = results(of, pair, key)
        seen = made.seen
        every = {
            "place": seen.place.tolist(),
            "gate": [round(share, 3) for share in seen.gate.tolist()],
            "relevance": text64(sixteen_bits((seen.queries.T @ seen.keys).numpy(), -1.0, 1.0)),
            "moved": self.moved,
        }
        canvas = canvas_of(self.drawn(of, made), "place", every, {"moved": (whole(0, FARTHEST_PX), "moved")})
        known = made.qualities
        if known:
            way = known["with" if self.texture == ONE else "mixture"]
            plain, bicubic = known["without"], known["bicubic"]
            yield Said(of_reference(way.psnr, plain.psnr, bicubic.psnr))
            yield canvas
            if self.reference == "same":
                yield Line(of_same(float(seen.gates[-1].mean())))
            yield Line(of_likeness_to_truth(way.ssim, plain.ssim, bicubic.ssim) + MOVED * bool(self.moved))
        else:
            yield Said(of_trust(float((seen.gate > 0.5).mean())))
            yield canvas
        yield Numbers(partial(self.numbers, made))
        yield Download("Trace of the attention (NPZ)", partial(self.trace, of, pair))
        yield from worth(of)

    def pair(self, of: Subject) -> tuple[Pair, tuple[str, ...]]:
        """What is enlarged and by what, and what tells it from others of this image."""
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
        """The images, with the chosen place and that whose texture it takes."""
        from vizkit.models.super_resolution import difference_around

        seen, truth = made.seen, made.pair.truth
        own = seen.hard if self.texture == ONE else seen.mixture
        at = self.at(of, seen.grid, made.blurred)
        over = overlaid(self.over, made, own)
        network = "with the reference" if self.texture == ONE else "mixture of all places"
        ways = {"own": own, "plain": made.without, "bicubic": seen.bicubic}
        return Transfer(
            small=made.pair.small,
            left={"bicubic": seen.bicubic, "without reference": made.without, TRUTH: truth}[self.beside],
            right=own,
            without=NO_PICTURE if self.beside == WAYS[1] else made.without,
            truth=truth,
            titles=("true" if self.beside == TRUTH else self.beside, network),
            at=at,
            **taken_by(seen, at[0] * seen.grid[1] + at[1]),
            says=SAYS[self.texture] + (TOLD if made.qualities else ""),
            errors={name: difference_around(each, truth) for name, each in ways.items() if made.qualities},
            over=over,
            over_top=BRIGHTEST_ERROR if self.over == ERROR else 1.0,
            over_words=OVERLAYS[self.over],
            zoom=NEARER,
        )

    def at(self, of: Subject, size_hw: tuple[int, int], blurred: tuple[int, int] | None = None) -> tuple[int, int]:
        """Row and column of the chosen place of the input. `blurred`: where bicubic interpolation misses most."""
        place = self.spot if self.as_it_is else self.place
        usual = (
            blurred
            if blurred and place == BLURRED
            else tuple(int(share * side) for share, side in zip(of.point[::-1], size_hw, strict=True))
        )
        row, column = place if isinstance(place, tuple) else usual
        return min(row, size_hw[0] - 1), min(column, size_hw[1] - 1)

    def whole(self, of: Subject) -> Blocks:
        """The image as it is: what is looked at is enlarged at once, the rest of a large one when it is asked for."""
        tiles, second = tiles_of(of.rgb), None if self.second == NO_REFERENCE else of.other_picture(self.second)
        at = self.at(of, of.rgb.shape[:2])
        part = around(at, of.rgb.shape[:2], PART_HW)
        at = sharpest(of.rgb, part) if self.spot == BLURRED else at
        near, every = jobs_of(of, tiles, second, part)
        show, only_asked = partial(self.shown, of, second, part, at), len(tiles) > AT_ONCE

        def beside(found: Mapping[Hashable, Tiles]) -> Blocks:
            if len(found) < len(near):
                return show([*found.values()], of_tiles(len(found), len(near)))
            if len(near) == len(tiles):
                return show([*found.values()], every=True)
            button = f"Enlarge all {len(tiles)} tiles"
            rest = Later(of, tuple(every), partial(all_of, [*found.values()]), button, only_asked=only_asked)
            return iter([rest])

        def all_of(seen: Sequence[Tiles], found: Mapping[Hashable, Tiles]) -> Blocks:
            return show([*seen, *found.values()], every=len(found) == len(every))

        yield Later(of, tuple(near), beside, only_asked=only_asked, silent=True)

    def shown(
        self,
        of: Subject,
        second: RGB | None,
        part: Part,
        at: tuple[int, int],
        found: Sequence[Tiles],
        said: str = "",
        *,
        every: bool = False,
    ) -> Blocks:
        """`said`: what is still to come of the part. `every`: all tiles are there."""
        plain = bicubic(of.rgb)
        pixels, shown = filled(plain, found), larger(part)
        taken: dict[str, Any] = {} if second is None else taken_by(*seen_around(of, second, at)) | {"says": SAYS[ONE]}
        network = "without reference" if second is None else "with the reference"
        first = part[0].start, part[1].start
        whole = judged(of.rgb, plain, pixels) if every else ""
        yield Said(said or whole or judged(of.rgb[part], plain[shown], pixels[shown], part=True))
        if second is None:
            yield Line(NO_COPY)
            yield Hint("Choose a reference that shows the same thing from nearer.")
        drawn = Transfer(of.rgb, plain[shown], pixels[shown], ("bicubic", network), at, first, **taken)
        yield canvas_of(drawn, "spot")
        if every:
            yield Download("All pixels (PNG)", partial(png_of, pixels))
        yield Numbers(lambda: {"result": pixels, "bicubic": plain})

    def numbers(self, made: Results) -> dict[str, np.ndarray]:
        """All images, and where each place took its texture."""
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


def canvas_of(drawn: Transfer, place: str, more: Mapping[str, Any] = {}, tells: Mapping[str, Any] = {}) -> Canvas:
    """`place`: the field of the chosen one. `more`: what is sent beside its relevance, `tells`: what comes back."""
    tells = {"at": (tuple_of(*map(below, drawn.small.shape[:2])), place), **tells}
    return Canvas("vizkit_transfer", drawn.pack() | {**more}, ALT, tells, (Paper(drawn.marks),))


def taken_by(seen: "Seen", index: int) -> dict[str, Any]:
    """For a `Transfer`, what a place of the input takes its texture from."""
    return {
        "reference": seen.reference,
        "taken": divmod(int(seen.place[index]), seen.key_grid[1]),
        "relevance": seen.map_of(index).numpy(),
        "gate": float(seen.gate[index]),
    }


def overlaid(over: str, made: Results, own: RGB) -> "np.ndarray | None":
    """What is laid over the result, (row, column), from 0 to the brightest colour."""
    if over == NOTHING:
        return None
    if over == ERROR:
        return np.clip(np.abs(own.astype(np.float32) - made.pair.truth).mean(2) / 255, 0, BRIGHTEST_ERROR)
    values = made.seen.relevance if over == "S" else made.seen.gates[list(OVERLAYS).index(over) - 2]
    return values.reshape(made.seen.grid).clamp(0, 1).numpy()
