"""How much a full recording would take, known before the model runs."""

from vizkit.geometry import id_at
from vizkit.models import dual_scale, vit
from vizkit.models.loading import Loaded
from vizkit.trace import Tokens


def weights_bytes(loaded: Loaded) -> int:
    """Bytes of all attention weights in float32 at the model's own input size; 0 for families of which no single rows
    can be recorded."""
    known = tokens_of(loaded)
    if known is None:
        return 0
    tokens, layers = known
    heads = next((int(m.num_heads) for m in loaded.model.modules() if hasattr(m, "num_heads")), 1)  # pyright: ignore
    return layers * heads * len(tokens) ** 2 * 4


def tokens_of(loaded: Loaded) -> tuple[Tokens, int] | None:
    """The tokens of every layer, and how many layers there are, where all layers have the same number."""
    if vit.matches(loaded.model):
        return vit.tokens_of(loaded.model, loaded.preprocessing.size_hw), vit.expected(loaded.model)
    if dual_scale.matches(loaded.model):
        return dual_scale.tokens_of(loaded.model), len(dual_scale.streams_of(loaded.model))
    return None


def rows_within(loaded: Loaded, query: str | tuple[float, float], limit_bytes: int) -> tuple[int, ...] | None:
    """None when everything fits; else the ids of the special tokens and of the query, a point in fractions (x, y)."""
    known = tokens_of(loaded)
    if known is None or weights_bytes(loaded) <= limit_bytes:
        return None
    tokens, _ = known
    asked = None if isinstance(query, str) else id_at(tokens, query)
    rows = range(len(tokens.special)) if asked is None else (*range(len(tokens.special)), asked)
    return tuple(rows) or (0,)
