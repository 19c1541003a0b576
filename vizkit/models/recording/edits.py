"""Changes to what a model computes, as records that can be written down: `heads:3.5=0`, `uniform:2`, `drop:17,18`.

Layers and heads are counted from 1, as on the pages, in the order of the forward pass; tokens by their ids from 0.

    heads:3.5=0             head 5 of layer 3 adds nothing (heads:3=0: all heads of the layer)
    heads:3.5=mean          it gives what it gives on average over reference images, at every query token
    temperature:3=2         the scores of layer 3 are divided by 2 before the softmax (temperature:3.5=2: of one head)
    uniform:3.5             head 5 of layer 3 looks at everything alike that it may look at
    frozen:3.5              it looks where it looks in the reference images, on average, whatever the image is
    frozen:3.5=2.1          it looks where head 1 of layer 2 looks in the unchanged model (frozen:3=2: head by head)
    blind:3=17,18           no query of layer 3 sees the tokens 17 and 18 (blind:all=17: in no layer)
    drop:17,18              these tokens are taken out before block 1: the sequence is shorter
    positions:zero          the model knows no positions (positions:scramble=7: those of the patches are exchanged at
                            random, by this seed; positions:shift=1,0: moved one row down)
    patch:stream.3=17,18    after block 3 these tokens are those of the reference image (patch:attention.3 and
                            patch:mlp.3: what this part of the block adds; without tokens: all of them)
    steer:6=2*1.5           after block 6 the direction of class 2 is added, times 1.5

The later of two edits of one head holds. A single head of another image is patched in by heads:3.5=mean with that image
as the only reference. Michel et al. 2019 (arXiv 1905.10650) remove heads; Voita et al. 2019 (arXiv 1905.09418) say what
is lost; Meng et al. 2022 (arXiv 2202.05262) patch activations in.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["heads", "temperature", "uniform", "frozen", "blind", "drop", "positions", "patch", "steer"]
How = Literal["", "mean", "zero", "scramble", "shift", "stream", "attention", "mlp"]
ALL = -1
"""A layer: every one of them. Of a head in `Edit.numbers`: all of them, one for one."""
MOST_TOKENS = 100_000
IN_ATTENTION: tuple[Kind, ...] = ("heads", "temperature", "uniform", "frozen", "blind")

_PLACE = r"(?P<layer>all|\d{1,4})(?:\.(?P<head>\d{1,4}))?"
_NUMBER = r"[\d.e+-]{1,24}"
_TOKENS = r"(?P<tokens>[\d,]{1,600000})"
_FORMS = {
    "heads": (_PLACE + "=(?P<how>0|mean)", "heads:3.5=0 or heads:3.5=mean"),
    "temperature": (_PLACE + f"=(?P<value>{_NUMBER})", "temperature:3=2"),
    "uniform": (_PLACE, "uniform:3.5"),
    "frozen": (_PLACE + r"(?:=(?P<from>\d{1,4})(?:\.(?P<from_head>\d{1,4}))?)?", "frozen:3.5 or frozen:3.5=2.1"),
    "blind": (r"(?P<layer>all|\d{1,4})=" + _TOKENS, "blind:3=17,18; the heads of a layer are blind together"),
    "drop": (_TOKENS, "drop:17,18"),
    "positions": (
        r"(?P<how>zero|scramble|shift)(?:=(?P<numbers>-?\d{1,9}(?:,-?\d{1,9})?))?",
        "positions:zero, positions:scramble=7 or positions:shift=1,0",
    ),
    "patch": (r"(?P<how>stream|attention|mlp)\.(?P<layer>\d{1,4})(?:=" + _TOKENS + ")?", "patch:stream.3=17,18"),
    "steer": (r"(?P<layer>\d{1,4})=(?P<numbers>\d{1,6})\*(?P<value>" + _NUMBER + ")", "steer:6=2*1.5"),
}


class EditError(ValueError):
    """A change that cannot be made; the message is one sentence for the user."""


@dataclass(frozen=True)
class Edit:
    """One change. `layer`, `head` from 0; `head` None: all of the layer, `layer` ALL: all layers; of "patch" and
    "steer" it is a block. `value`: the temperature, or the factor of a direction. `tokens`: ids as in the layer's
    `Tokens`, none: all. `how`: which of the forms above. `numbers`: (layer, head or ALL) that a frozen head follows,
    none: the reference; (seed,) or (rows, columns) of positions; (class,) of "steer"."""

    kind: Kind
    layer: int = ALL
    head: int | None = None
    value: float = 0.0
    tokens: tuple[int, ...] = ()
    how: How = ""
    numbers: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if self.kind == "temperature" and not 1e-3 <= self.value <= 1e6:
            raise EditError(f"A temperature lies from 0.001 to 1,000,000, not at {self.value:g}.")
        if self.kind == "blind" and (self.head is not None or not self.tokens):
            raise EditError("Say which tokens are not seen, such as blind:3=17,18; a layer's heads are blind together.")
        if self.kind == "drop" and not self.tokens:
            raise EditError("Say which tokens are taken out, such as drop:17,18.")
        if self.kind == "positions" and len(self.numbers) != {"zero": 0, "scramble": 1, "shift": 2}.get(self.how):
            raise EditError(f"Write {_FORMS['positions'][1]}.")
        if self.kind == "steer" and not abs(self.value) <= 1e6:
            raise EditError(f"A direction is added at most 1,000,000 times, not {self.value:g} times.")

    def __str__(self) -> str:
        place = "all" if self.layer == ALL else str(self.layer + 1)
        place += "" if self.head is None else f".{self.head + 1}"
        tokens = ",".join(map(str, self.tokens))
        numbers = ",".join(map(str, self.numbers))
        source = ".".join(str(number + 1) for number in self.numbers if number != ALL)
        texts = {
            "heads": f"{place}={self.how or 0}",
            "temperature": f"{place}={self.value!r}".removesuffix(".0"),
            "uniform": place,
            "frozen": place + (f"={source}" if source else ""),
            "blind": f"{place}={tokens}",
            "drop": tokens,
            "positions": self.how + (f"={numbers}" if numbers else ""),
            "patch": f"{self.how}.{place}" + (f"={tokens}" if tokens else ""),
            "steer": f"{place}={numbers}*{self.value!r}".removesuffix(".0"),
        }
        return f"{self.kind}:{texts[self.kind]}"

    def concerns(self, layer: int) -> bool:
        """Whether it is about this attention layer."""
        return self.kind in IN_ATTENTION and self.layer in (ALL, layer)


def parse(text: str) -> Edit:
    """An edit as it is written; `str` gives the text again. EditError says what is wrong."""
    kind, _, rest = text.strip().partition(":")
    if kind not in _FORMS:
        raise EditError(f"{text[:40]!r} is no edit; write heads:3.5=0, temperature:3=2, uniform:3.5 or blind:3=17,18.")
    pattern, example = _FORMS[kind]
    match = re.fullmatch(pattern, rest, re.ASCII)
    if match is None:
        raise EditError(f"{text[:40]!r} cannot be read: write {example}.")
    parts = match.groupdict()
    counted = [parts.get(name) for name in ("layer", "head", "from", "from_head")]
    if any(number is not None and number.isdecimal() and int(number) == 0 for number in counted):
        raise EditError(f"{text[:40]!r}: layers and heads are counted from 1.")
    layer, head, source, source_head = (ALL if n in (None, "all") else int(n) - 1 for n in counted)
    numbers = _integers(parts.get("numbers")) if parts.get("from") is None else (source, source_head)
    how = parts.get("how") or ""
    try:
        value = float(parts.get("value") or 0.0)
    except ValueError:
        raise EditError(f"{text[:40]!r}: the value is no number.") from None
    own_head = None if head == ALL else head
    return Edit(kind, layer, own_head, value, _tokens(parts.get("tokens")), "" if how == "0" else how, numbers)  # pyright: ignore[reportArgumentType]


def _integers(text: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in (text or "").split(",") if part)


def _tokens(text: str | None) -> tuple[int, ...]:
    parts = (text or "").split(",") if text else []
    if len(parts) > MOST_TOKENS or not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise EditError("Tokens are whole numbers with commas between them.")
    return tuple(sorted({int(part) for part in parts}))


def refuse_impossible(edits: Iterable[Edit], heads: list[int]) -> None:
    """EditError for a layer or a head that the model has not. `heads`: how many each attention layer has."""
    for edit in edits:
        if edit.kind not in IN_ATTENTION:
            continue
        followed = [(edit.numbers[0], edit.numbers[1])] if edit.kind == "frozen" and edit.numbers else []
        for layer, head in [(edit.layer, ALL if edit.head is None else edit.head), *followed]:
            if layer >= len(heads):
                raise EditError(f"{edit}: the model has {len(heads)} attention layers.")
            least = min(heads) if layer == ALL else heads[layer]
            if head >= least:
                raise EditError(f"{edit}: this layer has {least} heads.")
