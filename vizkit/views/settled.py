"""The blocks of a view with everything made that a page makes when it draws them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from vizkit.traces import NotApplicable
from vizkit.views.blocks import Block, Columns, Later, Line, Part, Said


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


def with_caveat(blocks: Iterable[Block], words: str) -> Iterator[Block]:
    """With these words before the first sentence, also where that takes time."""
    for block in blocks:
        if words and isinstance(block, Said) and block.text:
            yield Said(f"{words} {block.text}")
            words = ""
        elif words and isinstance(block, Later):
            yield replace(block, show=lambda found, show=block.show, words=words: with_caveat(show(found), words))
            words = ""
        else:
            yield block
