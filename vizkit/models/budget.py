"""How much a full recording would take, known before the model runs."""

from vizkit.geometry import id_at
from vizkit.models import vit
from vizkit.models.loading import Loaded


def weights_bytes(loaded: Loaded) -> int:
    """Bytes of all attention weights in float32 at the model's own input size; 0 for families other than ViT."""
    if not vit.matches(loaded.model):
        return 0
    tokens = vit.tokens_of(loaded.model, loaded.preprocessing.size_hw)
    heads = next((int(m.num_heads) for m in loaded.model.modules() if hasattr(m, "num_heads")), 1)  # pyright: ignore
    return vit.expected(loaded.model) * heads * len(tokens) ** 2 * 4


def rows_within(loaded: Loaded, query: str | tuple[float, float], limit_bytes: int) -> tuple[int, ...] | None:
    """None when everything fits; else the ids of the special tokens and of the query, a point in fractions (x, y)."""
    if weights_bytes(loaded) <= limit_bytes:
        return None
    tokens = vit.tokens_of(loaded.model, loaded.preprocessing.size_hw)
    asked = None if isinstance(query, str) else id_at(tokens, query)
    rows = range(len(tokens.special)) if asked is None else (*range(len(tokens.special)), asked)
    return tuple(rows) or (0,)
