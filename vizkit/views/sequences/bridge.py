"""From words to patches: one encoder block on a sentence and on an image, side by side."""

from typing import TYPE_CHECKING, Any

from vizkit.views.blocks import Blocks, Link, Said
from vizkit.views.controls import number, text_model
from vizkit.views.rules import whole
from vizkit.views.sequences.bridge_steps import Image, Sentence, steps_of
from vizkit.views.sequences.known import TRANSFORMER
from vizkit.views.sequences.steps import numbered, proof, walked_of
from vizkit.views.sequences.strips import Choice, Side, walked
from vizkit.views.sequences.typed import typed, typed_text
from vizkit.views.subject import Subject
from vizkit.views.view import How, View

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.probes.from_parts import Inside

STEPS, ATTENTION = 8, 5


class Bridge(View):
    """The same block on a sentence and on an image: what changes and what stays."""

    text_model: str = text_model(TRANSFORMER, key="sequence_model")
    text: str = typed_text()
    word: int = number("Word", 1, 999, 6, "Of the sentence.", key="bridge_word", inside=True)
    patch: int = number("Patch", 0, 99_999, 0, "Row by row; 0 for the middle.", key="bridge_patch", inside=True)
    layer: int = number("Layer", 1, 99, 1, "Of both models.", key="bridge_layer", inside=True)
    step: int = number("Step", 1, STEPS, ATTENTION, "What is compared.", key="bridge_step", inside=True)

    alone = True
    overlays = False
    slides = "step"
    how = How(
        "Left a word, right a patch, the same step of the same block. Click another word or patch. Of the whole model "
        "only the beginning, the place of the norms and the end are others: an image is a sentence of patches.",
        r"z_0 = \sqrt{d}\,E_{w} + p \ \text{(text)}, \qquad z_0 = [x_{\mathrm{cls}};\, x_p W_E] + p \ \text{(image)}",
        "that both have learned alike: their weights have nothing in common.",
        "Vaswani et al. 2017; Dosovitskiy et al. 2020, eq. 1 to 4",
    )

    def title(self, of: Subject) -> str:
        return f"A word and a patch through the same block: {typed(of, self.text_model, self.text).title}; {of.name}"

    def both(self, of: Subject) -> tuple[Sentence, Image]:
        from vizkit.models.probes.from_parts import inside

        within: Inside = of.kept(("from parts",), lambda: inside(of.loaded, of.pixels))
        read = typed(of, self.text_model, self.text)
        walk, words, _ = read.made(walked_of)
        rows, across = within.model.patch_embed.grid_size
        middle = rows // 2 * across + across // 2 + 1
        patch = min(self.patch or middle, rows * across) - 1
        layer = min(self.layer, len(walk.encoder), len(within.model.blocks)) - 1
        seen = weights(of, layer, patch + within.model.num_prefix_tokens)
        return Sentence(walk, words, min(self.word, len(words)) - 1, layer), Image(within, patch, layer, seen)

    def show(self, of: Subject) -> Blocks:
        text, image = self.both(of)
        grid, words = image.inside.model.patch_embed.grid_size, text.words
        sides = (
            Side(f"“{words[text.token]}” in a sentence", words, text.token),
            Side(f"patch {image.patch + 1} of an image", (), image.patch, of.seen_rgb, grid),
        )
        layers = [str(at + 1) for at in range(min(len(text.walked.encoder), len(image.inside.model.blocks)))]
        tells = {
            "layer": (numbered(layers), "layer"),
            "word": (whole(1, len(words)), "word"),
            "patch": (whole(1, grid[0] * grid[1]), "patch"),
        }
        choices = (Choice("layer", "Layer", layers, layers[text.layer]),)
        yield from walked(steps_of(text, image), self.step, self.title(of), sides, choices, tells)
        yield Said(
            f"One block, two inputs: {len(words)} words of {text.walked.source.words.shape[1]} numbers, "
            f"{grid[0]} × {grid[1]} patches of {image.inside.embedded.shape[1]}. From attention on the formulas are "
            "the same, but for ReLU and GELU."
        )
        more = f"; so are those of {of.name}, within {image.inside.logit_error:.0e}"
        yield proof(text.walked, more, image.inside.logit_error)
        yield Link("Patches: how an image is cut", "cut")
        yield Link("Translate: the sentence’s model at work", "translate")


def weights(of: Subject, layer: int, token: int) -> "Tensor | None":
    """The row of a token in every head, where all rows were recorded."""
    from vizkit.analysis.attention.attention_map import layers

    recorded: Any = layers(of.whole())
    if layer >= len(recorded) or recorded[layer].weights.shape[-2] != recorded[layer].weights.shape[-1]:
        return None
    return recorded[layer].weights[0, :, token].float()
