"""How much a full recording would take, known before the model runs."""

import torch

from vizkit.geometry import id_at
from vizkit.models.families import family
from vizkit.models.probes.multiply_adds import copy_with, shape_of, without_content
from vizkit.models.recording.counting import Counting
from vizkit.models.recording.recorder import Keep
from vizkit.models.sources.loading import Loaded
from vizkit.models.sources.sizing import bytes_of

LIGHT_TOKENS = 400  # 160,000 scores for a head
LIGHT_BYTES = 2**27  # of weights: a pass of tenths of a second, and the compiler takes two


def weights_bytes(loaded: Loaded) -> int:
    """Bytes of all attention weights in float32 at the model's own input size, 0 where it has none to record.

    Counted once for a model and an input size: in a pass on zeros where that is known to be light, for on tensors
    without content, by which all others are counted, torch imports its compiler. A model that looks into its tensors on
    the way is run for real, too.
    """
    needs = loaded.preprocessing
    if needs.size_hw not in loaded.weights_bytes:
        loaded.weights_bytes[needs.size_hw] = _on_zeros(loaded) if _light(loaded) else _planned(loaded)
    return loaded.weights_bytes[needs.size_hw]


def _light(loaded: Loaded) -> bool:
    """A small model that is known to have few tokens."""
    if bytes_of(loaded.model) > LIGHT_BYTES:
        return False
    tokens = family(loaded.model).tokens_of(loaded.model, loaded.preprocessing.size_hw)
    return bool(tokens) and all(len(kind) <= LIGHT_TOKENS for kind in tokens)


def _planned(loaded: Loaded) -> int:
    pixels = _zeros(loaded, torch.device("meta"))
    try:
        return counted(copy_with(loaded.model, without_content), pixels)
    except Exception:  # whatever a stranger's code says to such tensors; what is really wrong is raised again below
        return _on_zeros(loaded)


def _on_zeros(loaded: Loaded) -> int:
    return counted(loaded.model, _zeros(loaded, loaded.device))


def _zeros(loaded: Loaded, device: torch.device) -> torch.Tensor:
    return torch.zeros(shape_of(loaded), dtype=loaded.dtype, device=device)


def counted(model: torch.nn.Module, pixels: torch.Tensor) -> int:
    with torch.no_grad(), Counting(pixels) as counting:
        model(pixels)
    return counting.bytes


def keep_within(loaded: Loaded, query: str | tuple[float, float], limit_bytes: int) -> Keep:
    """Everything where it fits; else the rows of the special tokens and of the query, a point in fractions (x, y); and
    the mean over heads where a row is not the same token in every layer."""
    if weights_bytes(loaded) <= limit_bytes:
        return Keep()
    own = family(loaded.model)
    if not own.SAME_ROWS:
        return Keep(heads="mean")
    (tokens,) = own.tokens_of(loaded.model, loaded.preprocessing.size_hw)
    token_id = None if isinstance(query, str) else id_at(tokens, query)
    rows = range(len(tokens.special)) if token_id is None else (*range(len(tokens.special)), token_id)
    return Keep(rows=tuple(rows) or (0,))
