"""The blocks of a view with everything made that a page makes when it draws them."""

from collections.abc import Iterable, Sequence

from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Columns, Later, Line, Part


def settled(blocks: Iterable[Block]) -> list[Block]:
    """The same with each Part and what takes time made now: a sentence where it has no meaning."""
    found: list[Block] = []
    for block in blocks:
        if isinstance(block, Columns):
            found.append(Columns(tuple(tuple(settled(part)) for part in block.parts), block.widths))
        elif isinstance(block, Part):
            try:
                found += settled(block.make())
            except NotApplicable as sentence:
                found.append(Line(str(sentence)))
        elif isinstance(block, Later):
            found += settled(block.now())
        else:
            found.append(block)
    return found


def flat(blocks: Iterable[Block]) -> Sequence[Block]:
    """All blocks, with those inside of others in their place, and what takes time computed now."""
    found: list[Block] = []
    for block in settled(blocks):
        found += [inner for part in block.parts for inner in flat(part)] if isinstance(block, Columns) else [block]
    return found
