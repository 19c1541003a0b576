"""Changes to what attention layers compute, as records that can be written down: `heads:3.5=0`, `uniform:2`.

Layers and heads are counted from 1, as on the pages, in the order of the forward pass.

    heads:3.5=0          head 5 of layer 3 adds nothing (heads:3=0: all heads of the layer)
    heads:3.5=mean       it gives what it gives on average over reference images, at every query token
    temperature:3=2      the scores of layer 3 are divided by 2 before the softmax (temperature:3.5=2: of one head)
    uniform:3.5          head 5 of layer 3 looks at everything alike that it may look at
    blind:3=17,18        no query of layer 3 sees the tokens 17 and 18 (blind:all=17: in no layer)

Michel et al. 2019 (arXiv 1905.10650) remove heads; Voita et al. 2019 (arXiv 1905.09418) say what is lost.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

__all__ = ["ALL", "Edit", "EditError", "parse"]

Kind = Literal["heads", "temperature", "uniform", "blind"]
ALL = -1
"""A layer: every one of them."""
MOST_TOKENS = 100_000
_EDIT = re.compile(r"(heads|temperature|uniform|blind):(all|\d{1,4})(?:\.(\d{1,4}))?(?:=(mean|[\d.,e+-]{1,600000}))?")


class EditError(ValueError):
    """A change that cannot be made; the message is one sentence for the user."""


@dataclass(frozen=True)
class Edit:
    """One change. `layer`, `head` from 0; `head` None: all of the layer, `layer` ALL: all layers. `value`: the
    temperature; `tokens`: ids of the keys that are not seen, as in the layer's `Tokens`; `how`: "mean" for heads that
    give their mean."""

    kind: Kind
    layer: int
    head: int | None = None
    value: float = 0.0
    tokens: tuple[int, ...] = ()
    how: Literal["", "mean"] = ""

    def __post_init__(self) -> None:
        if self.kind == "temperature" and not 1e-3 <= self.value <= 1e6:
            raise EditError(f"A temperature lies from 0.001 to 1,000,000, not at {self.value:g}.")
        if self.kind == "blind" and (self.head is not None or not self.tokens):
            raise EditError("Say which tokens are not seen, such as blind:3=17,18; a layer's heads are blind together.")

    def __str__(self) -> str:
        place = "all" if self.layer == ALL else str(self.layer + 1)
        place += "" if self.head is None else f".{self.head + 1}"
        values = {"heads": f"={self.how or 0}", "temperature": f"={self.value:g}", "uniform": "",
                  "blind": f"={','.join(map(str, self.tokens))}"}  # fmt: skip
        return f"{self.kind}:{place}{values[self.kind]}"

    def concerns(self, layer: int) -> bool:
        return self.layer in (ALL, layer)


def parse(text: str) -> Edit:
    """An edit as it is written; `str` gives the text again. EditError says what is wrong."""
    match = _EDIT.fullmatch(text.strip())
    if match is None:
        raise EditError(f"{text[:40]!r} is no edit; write heads:3.5=0, temperature:3=2, uniform:3.5 or blind:3=17,18.")
    kind, layer, head, value = match.groups()
    if layer == "0" or head == "0":
        raise EditError(f"{text[:40]!r}: layers and heads are counted from 1.")
    at = ALL if layer == "all" else int(layer) - 1
    which = None if head is None else int(head) - 1
    if kind == "heads" and value not in ("0", "mean"):
        raise EditError(f"{text[:40]!r}: a head is set to 0 or to its mean, such as heads:3.5=0.")
    if kind == "uniform" and value is not None:
        raise EditError(f"{text[:40]!r}: uniform has no value; write uniform:3 or uniform:3.5.")
    try:
        if kind == "temperature":
            return Edit("temperature", at, which, float(value or "nan"))
        if kind == "blind":
            return Edit("blind", at, which, tokens=_numbers(value or ""))
    except ValueError as error:
        if isinstance(error, EditError):
            raise
        raise EditError(f"{text[:40]!r}: the value is no number.") from None
    if kind == "heads":
        return Edit("heads", at, which, how="mean" if value == "mean" else "")
    return Edit("uniform", at, which)


def _numbers(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if len(parts) > MOST_TOKENS or not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise EditError("Tokens are whole numbers with commas between them.")
    return tuple(sorted({int(part) for part in parts}))


def refuse_impossible(edits: Iterable[Edit], heads: list[int]) -> None:
    """EditError for a layer or a head that the model has not. `heads`: how many each layer has."""
    for edit in edits:
        if edit.layer >= len(heads):
            raise EditError(f"{edit}: the model has {len(heads)} attention layers.")
        counts = heads if edit.layer == ALL else [heads[edit.layer]]
        if edit.head is not None and edit.head >= min(counts):
            raise EditError(f"{edit}: this layer has {min(counts)} heads.")
