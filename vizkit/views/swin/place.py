"""One block of a Swin: where it stands, and how it cuts its tokens into windows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from jaxtyping import Int
from torch import Tensor

from vizkit.analysis.swin.receptive_field import Field, receptive_fields
from vizkit.analysis.swin.shifted_windows import Layout, across_lines, cut, layout
from vizkit.figure.canvas.rows import Rows
from vizkit.geometry import id_at, middle_of
from vizkit.image import RGB
from vizkit.models.families.swin import Block
from vizkit.models.probes.budget import weights_bytes
from vizkit.models.probes.swin_stages import Stage, hierarchy, is_swin
from vizkit.traces import PADDING, Attention, Tokens
from vizkit.views.rows_of import layer_for_browser
from vizkit.views.subject import FULL_TRACE_BYTES, Subject

Size = tuple[int, int]
SHIFTS = 2  # the first block that shifts, where any does


@dataclass(frozen=True)
class Place:
    """`stage`, `number` in it and `index` among all blocks, from 0."""

    stage: int
    number: int
    index: int
    of: Stage

    @property
    def block(self) -> Block:
        return self.of.blocks[self.number]

    def windows(self, shift: Size | None = None) -> Layout:
        """`shift`: another one than the block's own."""
        own = self.block.shift if shift is None else shift
        return layout(self.of.grid, self.block.window, own, pad_first=self.of.pad_first)

    def words(self) -> str:
        (rows, columns), (tall, wide), (down, right) = self.of.grid, self.block.window, self.block.shift
        by = f"{down} tokens" if down == right else f"{down} down and {right} right"
        alone = "one window, no shift" if tall >= rows and wide >= columns else "not shifted"
        stands = f"Block {self.index + 1}, number {self.number + 1} of {len(self.of.blocks)} in stage {self.stage + 1}"
        return (
            f"{stands} · {rows} × {columns} tokens of {self.of.tokens.stride:.0f} pixels · {self.of.channels} channels "
            f"· {self.of.heads} heads · windows of {tall} × {wide} tokens · "
            f"{f'shifted by {by}' if down or right else alone}"
        )


def places(of: Subject) -> list[Place]:
    """All blocks in their order. NotApplicable for a model that is no Swin."""
    return [
        Place(index, number, stage.first_layer + number, stage)
        for index, stage in enumerate(hierarchy(of.loaded))
        for number in range(len(stage.blocks))
    ]


def place(of: Subject, block: int | None) -> Place:
    """`block`: from 1; beyond the last, or None, the last."""
    every = places(of)
    return every[min(block or len(every), len(every)) - 1]


def fields_of(of: Subject, point: tuple[float, float]) -> list[Field]:
    """What can reach the last stage's token at a point by the end of every block."""
    return receptive_fields(of.seen, [cut(each.windows().regions, each.block.window) for each in places(of)], point)


def stages(of: Sequence[Subject]) -> list[str]:
    """By their numbers, as options of a choice; of a model that is no Swin a single one."""
    count = len(hierarchy(of[0].loaded)) if of and is_swin(of[0].loaded) else 1
    return [str(number + 1) for number in range(count)]


def part_seen(of: Subject) -> RGB | None:
    """What the model sees of the image, where that is not all of it: so that maps beside one another are alike."""
    height, width = of.rgb.shape[:2]
    return None if of.box_xyxy == (0, 0, width, height) else of.seen_rgb


def within(error: float) -> str:
    """How far two numbers lie apart that should be the same."""
    return "exactly" if error == 0 else f"to within {error:.0e}"


def point(of: Subject) -> tuple[float, float]:
    """The cursor, in fractions of what the model sees. Before anybody has set it the token that gains most by the first
    shift, in a window where regions meet, and on a drawn insect where one lies there; of a model so large that only the
    rows at the cursor are kept, that."""
    shifted = next((each for each in places(of) if any(each.block.shift)), None)
    if not of.unasked or shifted is None or weights_bytes(of.loaded) > FULL_TRACE_BYTES:
        return of.asked
    return of.kept("gains by the shift", partial(gaining, of, shifted))


def gaining(of: Subject, here: Place) -> tuple[float, float]:
    windows, attention = here.windows(), of.layers[here.index]
    ids, regions = (cut(each, windows.window) for each in (windows.ids, windows.regions))
    among = ids[regions.amax(1) > regions.amin(1)]
    among = among[among != PADDING]
    gains, drawn = across_lines(attention, windows), of.covered(windows.grid)
    assert gains is not None  # all rows were kept
    worth = gains.flatten()[among]
    on_insect = worth if drawn is None else worth * drawn.flatten()[among]
    best = (on_insect if bool(on_insect.any()) else worth).argmax()
    return middle_of(Tokens("tokens", grid=windows.grid), int(among[best]))


def token_at(of: Subject, tokens: Tokens) -> int:
    """The token that is asked."""
    token = id_at(tokens, point(of))
    assert token is not None
    return token


def in_windows(of: Subject, layer: Attention, head: int | None, regions: Int[Tensor, "window token"]) -> Rows:
    """The weights of a layer in all its windows, or one row of them, with what its mask keeps apart: places of another
    of its `regions`."""
    rows = layer_for_browser(layer, head, point(of))
    query, key = regions.numpy(), regions.numpy()
    if rows.values.shape[-2] < rows.values.shape[-1] and rows.query_ids is not None:  # of a very large layer
        window, position = (layer.query_ids == int(rows.query_ids)).nonzero()[0].tolist()
        query, key = query[window, position].reshape(1, 1), key[None, window]
    return replace(rows, query_regions=query, key_regions=key)
