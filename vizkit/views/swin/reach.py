"""Reach: which pixels can reach a token of the last stage, and how strongly."""

from functools import partial

from vizkit.analysis.attribution.rollout import rollout_by_layer
from vizkit.analysis.remarks import swin
from vizkit.analysis.swin.receptive_field import Field, holding, reached_after, receptive_fields
from vizkit.analysis.swin.shifted_windows import cut, strangers
from vizkit.figure.swin.reach import growth, reach
from vizkit.percent import in_percent
from vizkit.traces import Tokens
from vizkit.views.blocks import Blocks, Chart, Heading, Line, Map, Numbers, Said, side_by_side
from vizkit.views.controls import layer
from vizkit.views.rollout_parts import one_row
from vizkit.views.rows_of import grid_for_browser
from vizkit.views.subject import CENTRE, Subject
from vizkit.views.swin.place import Place, part_seen, places
from vizkit.views.view import How, View

HELD = 0.9
START = (0.05, 0.4)  # of what the model sees: before anybody clicked, a token whose field begins as one window


class Reach(View):
    """Which pixels can reach a token of the last stage, and how strongly."""

    block: int | None = layer(
        "After block",
        "Step through the blocks to see what reaches the token spread with windows, shifts and mergings.",
        plays=True,
        key="reach_block",
    )

    alone = True
    how = How(
        "Click a place to choose the token of the last stage that lies there: the shades, early blocks dark and late "
        "ones bright, follow windows, shifts and mergings back as sets, and nothing outside them can change the "
        "token, whatever the weights are. The bars give, after every block, the field of all tokens that are merged "
        "into this one, and how much of the image holds nine tenths of what rollout traces back from the one in "
        "their middle.",
        r"\begin{gathered} S_{l-1} = S_l \cup \{\, j : \exists\, i \in S_l \text{ that may see } j \,\} \\ "
        r"R = \hat A_L \cdots \hat A_1 \end{gathered}",
        "what the token does with what reaches it. Rollout ignores values, MLPs and normalisation.",
        "Liu et al. 2021, § 3.2; Abnar & Zuidema 2020, eq. 1; effective fields: Luo et al. 2016",
    )

    def title(self, of: Subject) -> str:
        blocks = places(of)
        return f"What reaches a token: after block {self.last(blocks)} of {len(blocks)}"

    def last(self, blocks: list[Place]) -> int:
        return min(self.block or len(blocks), len(blocks))

    def show(self, of: Subject) -> Blocks:
        blocks = places(of)
        point = START if of.point == CENTRE else of.asked
        fields: list[Field] = of.kept(("reach", point), partial(fields_of, of, blocks, point))
        end, number = fields[-1], self.last(blocks)
        field, grown = fields[number - 1], of.made(rollout_by_layer, of.seen, end.cell)
        full = next((each for each, known in enumerate(fields[:number], 1) if known.share == 1), None)
        shares = [holding(each.grid, HELD) for each in grown]
        yield Said(swin.reach(None if full is None else str(full), field.share, shares[number - 1], HELD))
        last, rolled = last_tokens(of), grown[number - 1]
        after = reached_after(fields[:number])
        maps = {
            "How strongly: rollout": Map(
                one_row(rolled, last, end.cell),
                point,
                "Rollout of",
                "share of what reaches the token",
                room=False,
                instead=part_seen(of),
            ),
            "Which pixels at all: after which block they first reach it": Map(
                grid_for_browser(last),
                point,
                "Shaded by the block after which a place first reaches the token; what never does is dark. A token of",
                "",
                room=False,
                instead=reach(of.seen_rgb, after.numpy(), len(fields)),
            ),
        }
        yield side_by_side(*((Heading(words), each) for words, each in maps.items()))
        yield Line(framed(end, field, blocks[number - 1], number, len(blocks)))
        yield from round_the_edge(blocks)
        names = [str(each) for each in range(1, len(blocks) + 1)]
        words = ("can reach it", f"holds {in_percent(HELD)} of rollout")
        figure = growth(names, [each.share for each in fields], shares, words, of_stages(blocks))
        yield Chart(figure, "Share of the image that can reach the token, block by block")
        yield Numbers(
            lambda: {
                "reached_after": reached_after(fields),
                "can_reach": [each.share for each in fields],
                "holds_rollout": shares,
                "rollout": rolled.grid,
            }
        )


def fields_of(of: Subject, blocks: list[Place], point: tuple[float, float]) -> list[Field]:
    """The field of the last stage's token at a point after every block."""
    return receptive_fields(of.seen, [cut(each.windows().regions, each.block.window) for each in blocks], point)


def framed(end: Field, field: Field, here: Place, number: int, count: int) -> str:
    """Which token it is, and how many there are of it after an earlier block."""
    (row, column), (rows, columns), own = end.cell, end.grid, int(field.own.sum())
    words = f"Framed: the token in row {row + 1}, column {column + 1} of the last stage's {rows} × {columns}"
    parts = (
        f"; after block {number} of {count} it is still {own} tokens of stage {here.stage + 1}, later merged into it"
    )
    return words + (parts if own > 1 else "") + "."


def of_stages(blocks: list[Place]) -> str:
    """For an axis: which block is whose."""
    stages = {each.stage: each.of for each in blocks}
    named = [
        f"stage {number + 1}: {stage.first_layer + 1}–{stage.first_layer + len(stage.blocks)}"
        for number, stage in stages.items()
    ]
    return f"block ({', '.join(named)})"


def round_the_edge(blocks: list[Place]) -> Blocks:
    """Says so where a mask lets opposite edges of the image meet: the field then goes on at the other side."""
    met = 0
    for windows in (each.windows() for each in blocks):
        if windows.ids.numel() > windows.grid[0] * windows.grid[1]:
            met += sum(strangers(windows, window) for window in range(windows.count))
    if met:
        yield Line(
            "The windows do not divide this grid, and the mask of the shifted blocks counts the padding too: "
            f"{met:,} pairs of tokens from opposite edges of the image may see each other. So the field goes on at the "
            "other side; the model really does this."
        )


def last_tokens(of: Subject) -> Tokens:
    return next(each.query for each in reversed(of.seen.attention) if each.query.grid)
