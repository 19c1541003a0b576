"""One image, every layer's attention, as a file."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter, Token

from vizkit.commands.options import AS_IT_IS, Edits, Model, Opening, writes
from vizkit.commands.output import writing_to
from vizkit.heads import EMBEDDING

if TYPE_CHECKING:
    from vizkit.image import Box
    from vizkit.models import Loaded
    from vizkit.traces import Trace


def numbers(text: str) -> tuple[int, ...]:
    """ "0,4-6" as (0, 4, 5, 6)."""
    if not re.fullmatch(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*", text):
        raise ValueError(f"{text[:60]!r} is no list of numbers such as 0,4-6.")
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return tuple(sorted({number for part in ends for number in range(part[0], part[-1] + 1)}))


def _numbers(_: object, tokens: Sequence[Token]) -> tuple[int, ...]:
    return numbers(tokens[0].value)


Numbers = Annotated[tuple[int, ...] | None, Parameter(converter=_numbers, n_tokens=1)]


def trace(
    image: str,
    /,
    *,
    model: Model,
    output: Annotated[Path, writes(".npz", ".html")],
    layers: Numbers = None,
    rows: Numbers = None,
    mean_heads: bool = False,
    target: str | None = None,
    edit: Edits = None,
    reference: list[str] | None = None,
    opening: Opening = AS_IT_IS,
) -> None:
    """Run one image, record every layer's attention, save it as .npz or .html.

    vizkit trace photo.jpg --model bundled:digits_vit -o photo.npz

    Args:
        image: An image file.
        output: OUT.npz for the numbers, OUT.html for a page that shows them.
        layers: Only these layers, counted from 0, as in 0,4-6.
        rows: Only these query tokens, as in 0,17, for large images.
        mean_heads: Only the mean over the heads of a layer.
        target: Record gradients of the logit of this class too, a name or a number.
        reference: An image from which heads:3.5=mean, frozen:3.5 and patch:stream.3 take theirs; repeatable.
    """
    import vizkit
    from vizkit.image import seen_box
    from vizkit.interventions import Changes
    from vizkit.models import Keep
    from vizkit.saving import save_npz
    from vizkit.standalone.page import proof

    changes = Changes.parse(edit or [])
    picture = vizkit.open_image(image)  # first: a wrong path is said sooner than a model is loaded
    loaded, picture = changes.given(opening.load(model), picture)
    keep = Keep(layers, rows, "mean" if mean_heads else "each")
    others = [vizkit.open_image(other) for other in reference or ()]
    recorded = vizkit.trace(loaded, picture, target=target, keep=keep, edits=changes.model, reference=others)
    recorded = changes.noted(recorded)
    _refuse_beyond("layer", layers, recorded.check.layers_found)
    if recorded.check.refused:
        raise ValueError(f"Nothing was saved. {recorded.check.refused}")
    _refuse_beyond("query token", rows, max((len(layer.query) for layer in recorded.attention), default=0))
    with writing_to(output):
        if output.suffix.lower() == ".html":
            recorded.save_html(output)
        else:
            box = seen_box((picture.shape[0], picture.shape[1]), loaded.preprocessing)
            save_npz(recorded, output, facts(loaded, recorded, picture.shape[:2], box))
    print(f"{loaded.name} ({loaded.source}, licence {loaded.licence})")
    for name, text in loaded.head.lines(recorded.logits, loaded.label):
        print(f"{text:>8}  {name}")
    if loaded.head is EMBEDDING:
        print(f"{float(recorded.logits.norm()):8.4g}  is the length of its embedding, {len(recorded.logits)} features")
    for note in (*loaded.notes, *(note for note in recorded.notes if note.startswith("Changed: "))):
        print(note)
    print(proof(recorded.check))


def _refuse_beyond(kind: str, indices: tuple[int, ...] | None, count: int) -> None:
    if indices and indices[-1] >= count:
        raise ValueError(f"There is no {kind} {indices[-1]}: this model has {count}, counted from 0.")


def facts(loaded: "Loaded", recorded: "Trace", picture_hw: tuple[int, int], box: "Box") -> dict[str, Any]:
    """What the file says about the model and the image, besides the trace itself."""
    from vizkit.models import family_of

    return {
        "family": family_of(loaded.model),
        "source": loaded.source,
        "licence": loaded.licence,
        "trained": loaded.trained,
        "parameters": loaded.parameters,
        "head": loaded.head.name,
        "top": [(loaded.label(index), value) for index, value in loaded.head.top(recorded.logits)],
        "picture_hw": picture_hw,
        "seen_box_xyxy": box,  # the part of the picture that the model saw
    }
