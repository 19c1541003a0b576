"""What changes where a layer reads an image instead of a sentence, step by step, and where a patch looks meanwhile."""

from collections.abc import Sequence
from dataclasses import replace

from vizkit.figure.canvas.rows import Rows
from vizkit.traces import NotApplicable
from vizkit.views.rows_of import layer_for_browser
from vizkit.views.sequences.strips import Step
from vizkit.views.subject import Subject

IN_IMAGE = {  # Dosovitskiy et al. 2020, eq. 1 to 4, by the title of a step
    "Word": "the pixels of a patch go through one linear layer; there is no table",
    "× √d + position": "a learned row is added, without × √d, and a class token stands in front",
    "Mask": "nothing is masked: every patch may look at all others",
    "Add & Norm": "x + y is the same, but the norm stands before each part",
    "FFN": "GELU stands in the place of max(0, …)",
    "Logits": "the vector of the class token becomes the answer",
}
CROSS = "there is no other sequence to look at, so this part is missing"


def with_image(steps: Sequence[Step]) -> list[Step]:
    """Each step says too what it is for a patch of the original ViT."""

    def said(step: Step) -> str:
        there = CROSS if step.part == "Cross-attention" else IN_IMAGE.get(step.title, "the same, of patches")
        return f"{step.say} In a ViT: {there}."

    return [replace(step, say=said(step)) for step in steps]


def rows_of(of: Subject, number: int, head: int) -> Rows:
    """The attention in a layer and head of the image's model, counted from 1, or in its last. NotApplicable with a
    sentence."""
    if not of.has_model:
        raise NotApplicable("Choose a model in the sidebar: its patches look at one another beside the words.")
    if not of.layers:
        raise NotApplicable(f"{of.name} has no attention, so no patches that look at one another.")
    layer = of.layers[min(number, len(of.layers)) - 1]
    rows = layer_for_browser(layer, min(head, layer.heads) - 1, of.asked)
    if not rows.values.size:
        raise NotApplicable(f"The tokens of {of.name} have no place in the image.")
    return rows
