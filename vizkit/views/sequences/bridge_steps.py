"""The same encoder block on a sentence (left) and on an image (right), step by step, as strips."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vizkit.views.sequences.strips import Step, Strip

if TYPE_CHECKING:
    from torch import Tensor

    from vizkit.models.probes.from_parts import Inside
    from vizkit.models.sequences.walk import Walk

CHANGES, STAYS = "What changes", "What stays"


@dataclass(frozen=True)
class Sentence:
    """A word of a text in the encoder. `layer`: from 0."""

    walked: "Walk"
    words: tuple[str, ...]
    token: int
    layer: int


@dataclass(frozen=True)
class Image:
    """A patch of an image in a ViT. `token`: its number behind the special ones, from 0; `weights`: its row in every
    head of the block, None where the rows were not kept."""

    inside: "Inside"
    patch: int
    layer: int
    weights: "Tensor | None"

    @property
    def token(self) -> int:
        return self.patch + self.inside.model.num_prefix_tokens

    @property
    def pixels(self) -> "Tensor":
        """Of the patch: channel, row, column."""
        top, left, size = self.corner()
        return self.inside.pixels[:, top : top + size[0], left : left + size[1]]

    def corner(self) -> tuple[int, int, tuple[int, int]]:
        """(first row, first column, (height, width)) of the patch in the model's input."""
        rows, columns = self.inside.model.patch_embed.grid_size
        _, height, width = self.inside.pixels.shape
        size = height // rows, width // columns
        return self.patch // columns * size[0], self.patch % columns * size[1], size


def steps_of(text: Sentence, image: Image) -> list[Step]:
    return [*_into_vectors(text, image), *_block(text, image)]


def _into_vectors(text: Sentence, image: Image) -> list[Step]:
    source, model = text.walked.source, image.inside.model
    word, at, token = text.words[text.token], text.token, image.token
    patches, table = image.inside.passed["patch_embed"].made, model.pos_embed[0].detach().float().cpu()
    dim, wide, count = source.words.shape[1], patches.shape[1], image.pixels.numel()
    shape = " × ".join(map(str, image.pixels.shape))
    special = model.num_prefix_tokens
    prefix = image.inside.embedded[:special]
    return [
        Step(
            CHANGES,
            "Embedding",
            "e = E[word]   |   e = W · patch + b",
            f"A word picks a row of a table, {dim} numbers; a patch is {shape} = {count} numbers, which one linear "
            f"layer makes {wide}.",
            (
                Strip(f"row of “{word}”", source.words[at]),
                *_right(
                    Strip("pixels of the patch", image.pixels.flatten()), Strip("W · patch + b", patches[image.patch])
                ),
            ),
        ),
        Step(
            CHANGES,
            "Position",
            "x = √d · e + sines   |   x = e + learned row",
            f"Both add a vector for the place: here sines and cosines of place {at + 1}, there a learned row for each "
            f"of {len(table)} tokens. Only the text's vectors are multiplied by √{dim} first.",
            (
                Strip("position", source.positions[at]),
                Strip("x", source.given[at]),
                *_right(Strip("position", table[token]), Strip("x", image.inside.embedded[token])),
            ),
        ),
        Step(
            CHANGES,
            "Class token",
            "[class] in front   |   of images only",
            f"The image has {special} learned token in front whose last vector becomes the answer; the sentence has "
            "none: its decoder reads all tokens."
            if special
            else "Neither has a class token here: this ViT takes the mean of all patches, the decoder reads all.",
            _right(*(Strip(f"special token {i + 1}", vector) for i, vector in enumerate(prefix))),
        ),
    ]


def _block(text: Sentence, image: Image) -> list[Step]:
    layer, at, token = text.walked.encoder[text.layer], text.token, image.token
    own, ffn = layer.attention, layer.feed_forward
    block, attn, mlp = (image.inside.passed[f"blocks.{image.layer}{part}"] for part in ("", ".attn", ".mlp"))
    heads, (tokens, wide) = _heads(image), block.given.shape
    mean = own.weights[:, at].mean(0)
    seen = (
        ()
        if image.weights is None
        else (Strip(f"mean weights over {tokens} tokens", image.weights.mean(0), _names(image, tokens), "weights"),)
    )
    after = block.given[token] + attn.made[token]
    return [
        Step(
            CHANGES,
            "Norm",
            "LN after the sum   |   LN before each part",
            "The original transformer normalises after Add (post-norm); a ViT before each part (pre-norm), so that "
            "its residual stream runs through untouched.",
            (
                Strip("x goes into attention as it is", own.arriving[at]),
                *_right(Strip("x", block.given[token]), Strip("LN(x) goes into attention", attn.given[token])),
            ),
        ),
        Step(
            STAYS,
            "Attention",
            "softmax(Q Kᵀ ÷ √d_k) V",
            f"The same formula: {len(own.weights)} heads of {own.query.shape[-1]} numbers over {len(text.words)} "
            f"words, {heads[0]} heads of {heads[1]} over {tokens} tokens.",
            (
                Strip(f"mean weights over {len(text.words)} words", mean, text.words, "weights"),
                Strip("output of attention", own.projected[at]),
                *_right(*seen, Strip("output of attention", attn.made[token])),
            ),
        ),
        Step(
            STAYS,
            "Residual",
            "x + attention(x)",
            "What arrives goes past the part and is added to what it makes: in both.",
            (
                Strip("x", own.arriving[at]),
                Strip("+ attention", own.projected[at]),
                Strip("= sum", own.added[at]),
                *_right(Strip("x", block.given[token]), Strip("+ attention", attn.made[token]), Strip("= sum", after)),
            ),
        ),
        Step(
            STAYS,
            "FFN",
            "W₂ · f(W₁ x + b₁) + b₂",
            f"Every token by itself, through a wider layer: {ffn.arriving.shape[1]} → {ffn.inner.shape[1]} → "
            f"{ffn.out.shape[1]} with ReLU, {wide} → {_hidden(image)} → {wide} with GELU.",
            (
                Strip("in", ffn.arriving[at]),
                Strip("out", ffn.out[at]),
                *_right(Strip("in", mlp.given[token]), Strip("out", mlp.made[token])),
            ),
        ),
        Step(
            STAYS,
            "Block out",
            "as many vectors as came in",
            f"A block gives what it was given: {len(text.words)} × {ffn.left.shape[1]} numbers, {tokens} × {wide}. So "
            "blocks can be stacked.",
            (Strip("out of the layer", ffn.left[at]), *_right(Strip("out of the block", block.made[token]))),
        ),
    ]


def _right(*strips: Strip) -> tuple[Strip, ...]:
    return tuple(replace(strip, column=1) for strip in strips)


def _heads(image: Image) -> tuple[int, int]:
    attn: Any = image.inside.model.blocks[image.layer].attn
    return attn.num_heads, attn.d_k


def _hidden(image: Image) -> int:
    block: Any = image.inside.model.blocks[image.layer]
    return block.mlp.first.out_features


def _names(image: Image, tokens: int) -> list[str]:
    """What the cells of a row of weights are called."""
    special = image.inside.model.num_prefix_tokens
    return [f"special {i + 1}" for i in range(special)] + [f"patch {i + 1}" for i in range(tokens - special)]
