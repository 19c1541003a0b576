"""Classes typed as words: the text tower of a CLIP or SigLIP folder becomes the head of its picture tower.

logit(picture, text) = exp(scale) · cosine(picture, text) + bias: Radford et al. 2021 (arXiv 2103.00020), figure 3, and
for the bias Zhai et al. 2023 (arXiv 2303.15343), algorithm 1. The logits depend on the typed class, and so does every
map that explains one.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import Tensor, nn

from vizkit.heads import SIGMOID, SOFTMAX
from vizkit.models.sources.checkpoint import read_header, read_json
from vizkit.models.sources.from_transformers import made_by_library, read_config
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import Loaded, copy_with
from vizkit.models.sources.transformers_weights import WEIGHTS
from vizkit.tokenizing import Tokenizer, TokenizerError

MOST_CLASSES, LONGEST_CLASS = 100, 200  # lines, and characters of each
MOST_TOKENS = 1024  # of a text; CLIP reads 77, SigLIP 64
BATCH = 32


class TextHead(nn.Module):
    """The vector of a picture, (image, channel), as logits (image, class); `texts` (class, channel) of length 1."""

    texts: Tensor
    scale: Tensor
    bias: Tensor

    def __init__(self, projection: nn.Module, texts: Tensor, scale: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.projection = projection
        for name, value in (("texts", texts), ("scale", scale), ("bias", torch.zeros(()) if bias is None else bias)):
            self.register_buffer(name, value)

    def forward(self, pooled: Tensor) -> Tensor:
        return self.scale * F.normalize(self.projection(pooled), dim=-1) @ self.texts.T + self.bias


def with_classes(loaded: Loaded, classes: Sequence[str]) -> Loaded:
    """A second model that answers with one of the `classes`, each a text such as "a photo of a cat", read as it stands;
    `loaded` is untouched, and its weights are shared. Of CLIP exactly one is right (softmax), of SigLIP, whose logits
    have a bias, each is or is not (sigmoid).

    Raises ModelError where the model reads no text, or for no texts, too many or too long ones.
    """
    names = checked(classes)
    folder = loaded.text_tower
    if folder is None:
        raise ModelError(
            f"{loaded.name[:60]} reads no text: classes as words need a CLIP or SigLIP with both towers, and its "
            "trained weights."
        )
    facts = (folder / WEIGHTS).stat()
    texts, scale, bias = embedded(folder, loaded.name, (facts.st_mtime_ns, facts.st_size), names)
    if bias is None and len(names) < 2:
        raise ModelError(f"{loaded.name[:60]} chooses among texts: give two classes or more.")
    model = copy_with(loaded.model)
    projection = model.head.projection if isinstance(model.head, TextHead) else model.head
    model.head = TextHead(projection, texts, scale, bias).to(loaded.device).requires_grad_(False).eval()
    model.num_classes = len(names)
    head = SOFTMAX if bias is None else SIGMOID
    return replace(loaded, model=model, labels=names, head=head, head_guessed=False, outputs=len(names), compared={})


def checked(classes: Sequence[str]) -> tuple[str, ...]:
    """Each text once, without spaces around it."""
    names = tuple(dict.fromkeys(text for name in classes if (text := " ".join(str(name).split()))))
    if not names or len(names) > MOST_CLASSES or max(map(len, names)) > LONGEST_CLASS:
        raise ModelError(f"Give 1 to {MOST_CLASSES} classes of at most {LONGEST_CLASS} characters each.")
    return names


@lru_cache(maxsize=32)
def embedded(
    folder: Path, title: str, stamp: tuple[int, int], classes: tuple[str, ...]
) -> tuple[Tensor, Tensor, Tensor | None]:
    """(texts (class, channel) of length 1, the factor of the cosine, what is added to it, where there is something).
    `stamp`: of the weights."""
    config = read_config(folder, title)
    model, report = made_by_library(folder, title, config, read_header(folder / WEIGHTS).holds)
    if missing := [str(key) for key in report["missing_keys"]]:
        raise ModelError(f"{title} lacks weights of its text tower: {len(missing)}, the first is {missing[0][:60]}.")
    ids = tokens(folder, title, model.config, classes)
    try:
        with torch.no_grad():
            parts = [vectors(model.get_text_features(input_ids=part)) for part in ids.split(BATCH)]
    except (RuntimeError, IndexError, ValueError) as error:
        raise ModelError(f"The tokenizer of {title} does not fit its weights; get both again.") from error
    with safe_open(folder / WEIGHTS, framework="pt") as file:
        scale = file.get_tensor("logit_scale").float().reshape(()).exp()
        biased = "logit_bias" in file.keys()  # noqa: SIM118
        bias = file.get_tensor("logit_bias").float().reshape(()) if biased else None
    return F.normalize(torch.cat(parts).float(), dim=-1), scale, bias


def vectors(out: Any) -> Tensor:
    """Before its fifth version transformers gave the vectors themselves."""
    return out if isinstance(out, Tensor) else out.pooler_output


def tokens(folder: Path, title: str, config: Any, texts: Sequence[str]) -> Tensor:
    """The texts as ids (text, token), by tokenizer.json alone: other files of a folder may name paths.

    SigLIP has learned with texts filled up to its full length and reads the last token; CLIP reads the first end.
    """
    longest = config.text_config.max_position_embeddings
    if not (isinstance(longest, int) and 1 <= longest <= MOST_TOKENS):
        raise ModelError(
            f"{title} reads texts of {str(longest)[:20]} tokens; vizkit takes those of 1 to {MOST_TOKENS}."
        )
    named = padding(folder, title)
    try:
        tokenizer = Tokenizer.of_file(folder / "tokenizer.json")
        if tokenizer is None:
            raise ModelError(
                f"{title} has no tokenizer.json, by which words are read; `save_pretrained` of its tokenizer writes it."
            )
        rows = tokenizer.ids(texts, special=True, longest=longest)
        pad = tokenizer.number(named) if named else None
    except TokenizerError as error:
        raise ModelError(f"The tokenizer.json of {title} {error}.") from error
    if not all(rows):
        raise ModelError(f"The tokenizer of {title} gives no token for a text; choose other words.")
    length = longest if config.model_type == "siglip" else max(map(len, rows))
    return torch.tensor([row + [row[-1] if pad is None else pad] * (length - len(row)) for row in rows])


def padding(folder: Path, title: str) -> str | None:
    """The token that tokenizer_config.json names for filling up; None leaves it to repeat the end."""
    if not (folder / "tokenizer_config.json").is_file():
        return None
    named = read_json(folder / "tokenizer_config.json", title).get("pad_token")
    named = named.get("content") if isinstance(named, dict) else named
    return named if isinstance(named, str) else None
