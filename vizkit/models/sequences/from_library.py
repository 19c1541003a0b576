"""MarianMT, T5, BERT and GPT-2 of the transformers library, from a folder as the hub has them. Never code from it."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from vizkit.models.sequences.loaded import SequenceModel, Task
from vizkit.models.sequences.pieces import Pieces, pieces_of
from vizkit.models.sources.checkpoint import read_json, refuse_sizes
from vizkit.models.sources.from_transformers import class_named, made_by_library
from vizkit.models.sources.hub import ModelError
from vizkit.models.sources.loaded import licence_on
from vizkit.models.sources.sizing import refuse_missing_numbers
from vizkit.models.sources.transformers_weights import has_weights, held

TASKS: dict[str, Task] = {
    "MarianMTModel": "translate",
    "T5ForConditionalGeneration": "translate",
    "BertForMaskedLM": "masked",
    "GPT2LMHeadModel": "causal",
}
LENGTHS = ("max_position_embeddings", "n_positions")
NO_SIZES = ("task_specific_params", "id2label", "label2id", "bad_words_ids", "eos_token_id", "forced_eos_token_id")


@dataclass(eq=False)
class LibraryModel(SequenceModel):
    """Its words are the pieces of its own tokenizer; `before` and `after` stand around what it reads."""

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    pieces: Pieces = field(default_factory=lambda: Pieces(()))

    def split(self, text: str) -> tuple[str, ...]:
        """A typed text in pieces. TextError for one that it cannot read."""
        return self.pieces.split(text)

    def text_of(self, words: Sequence[str]) -> str:
        return self.pieces.joined(words)

    def source_ids(self, words: Sequence[str]) -> list[int]:
        return [*self.before, *self.vocabulary.ids(words), *self.after]

    def line_ids(self, source: Sequence[str], target: Sequence[str] = ()) -> list[int]:
        return self.source_ids((*source, *target))


def from_library(folder: Path, title: str, device: torch.device) -> LibraryModel:
    """Raises ModelError with one sentence for a folder that is damaged or holds another kind of model."""
    config = read_json(folder / "config.json", title)
    refuse_sizes(title, {name: value for name, value in config.items() if name not in NO_SIZES})
    name = class_named(config)
    if name not in TASKS:
        raise ModelError(f"{title} is a {name[:60] or 'model without a name'}; of texts there are {', '.join(TASKS)}.")
    if not has_weights(folder):
        raise ModelError(f"{title} has no weights beside its config.json.")
    library, report = made_by_library(folder, title, config, held(folder, title))
    if missing := [*report["missing_keys"], *report["mismatched_keys"]]:
        raise ModelError(f"{title} lacks weights: {len(missing)} tensors, the first is {str(missing[0])[:60]}.")
    try:
        model = _made(folder, title, library, TASKS[name], device)
        _try(model)
        refuse_missing_numbers(title, model.model)
    except ModelError:
        raise
    except Exception as error:  # a stranger's configuration makes a pass raise anything
        reason = " ".join(str(error).split())[:120].rstrip(".") or type(error).__name__
        raise ModelError(f"{title} cannot read a text: {reason}.") from error
    model.model.requires_grad_(False).to(device)
    return model


def _made(folder: Path, title: str, library: Any, task: Task, device: torch.device) -> LibraryModel:
    settings = library.config
    pieces = pieces_of(folder, title, int(settings.vocab_size))
    lengths = [value for key in LENGTHS if isinstance(value := getattr(settings, key, None), int)]
    after = (settings.eos_token_id,) if task == "translate" else pieces.named("[SEP]")
    begin = settings.decoder_start_token_id if task == "translate" else 0
    end = settings.eos_token_id if task != "masked" else 0
    for number in (begin, end, *after):
        if not (isinstance(number, int) and 0 <= number < len(pieces)):
            raise ModelError(f"The config.json of {title} does not say with which of its words a text begins and ends.")
    network = SourceAndTarget(library) if task == "translate" else OneText(library, causal=task == "causal")
    return LibraryModel(
        title,
        network,
        pieces,
        task,
        "",
        device,
        f"folder, transformers {settings.model_type}",
        licence_on(folder / "README.md") or "not stated",
        max_length=min(lengths, default=None),
        begin=begin,
        end=end,
        before=pieces.named("[CLS]") if task == "masked" else (),
        after=after,
        pieces=pieces,
        mask=next(iter(pieces.named("[MASK]")), None),
    )


def _try(model: LibraryModel) -> None:
    """A word through it, in a pass and in a step."""
    texts = [torch.tensor([model.source_ids(model.vocabulary.words[:1])])]
    texts += [torch.tensor([[model.begin]])] if model.translates else []
    network: Any = model.model
    with torch.no_grad():
        logits = network.eval()(*texts)
        if model.writes:
            network.step(torch.tensor([model.begin]), network.start(texts[0]))
    if logits.shape != (1, texts[-1].shape[1], len(model.vocabulary)):
        raise ValueError(f"its answer has the shape {tuple(logits.shape)}")


@dataclass(frozen=True)
class SoFar:
    """A generation: the library's keys and values of the text so far, and of a translator what its encoder gave."""

    cache: Any = None
    memory: Float[Tensor, "text source_token dim"] | None = None

    def rows(self, indices: Int[Tensor, " row"]) -> "SoFar":
        cache = deepcopy(self.cache)
        if cache is not None:
            cache.batch_select_indices(indices)
        return SoFar(cache, None if self.memory is None else self.memory[indices])


class SourceAndTarget(nn.Module):
    """An encoder–decoder of the library as our own ones are called."""

    def __init__(self, library: Any) -> None:
        super().__init__()
        self.library = library

    def forward(self, source_ids: Tensor, target_ids: Tensor) -> Float[Tensor, "text token word"]:
        return self.library(input_ids=source_ids, decoder_input_ids=target_ids, use_cache=False).logits

    def start(self, source_ids: Tensor) -> SoFar:
        return SoFar(None, self.library.get_encoder()(input_ids=source_ids).last_hidden_state)

    def step(self, token_ids: Tensor, state: SoFar) -> tuple[Float[Tensor, "text word"], SoFar]:
        """What begins a target is never written, as the library's own bans say."""
        cache = deepcopy(state.cache)  # the library adds to what it is given; a state stays as it is
        out = self.library(
            encoder_outputs=(state.memory,), decoder_input_ids=token_ids[:, None], past_key_values=cache, use_cache=True
        )
        logits = out.logits[:, -1].clone()
        logits[:, self.library.config.decoder_start_token_id] = float("-inf")
        return logits, SoFar(out.past_key_values, state.memory)


class OneText(nn.Module):
    """A language model of the library as our own ones are called."""

    def __init__(self, library: Any, causal: bool) -> None:
        super().__init__()
        self.library, self.causal = library, causal

    def forward(self, ids: Tensor) -> Float[Tensor, "text token word"]:
        return self.library(input_ids=ids, **({"use_cache": False} if self.causal else {})).logits

    def start(self, ids: Tensor) -> SoFar:
        del ids  # nothing is read yet
        return SoFar()

    def step(self, token_ids: Tensor, state: SoFar) -> tuple[Float[Tensor, "text word"], SoFar]:
        out = self.library(input_ids=token_ids[:, None], past_key_values=deepcopy(state.cache), use_cache=True)
        return out.logits[:, -1], SoFar(out.past_key_values)
