"""Transformer in transformer (Han et al. 2021): words look at words inside each patch, patches at patches outside."""

from torch import nn

from vizkit.geometry import all_ids, window_ids
from vizkit.models.families.translate import Translated, attention_of, cam_features, features_of
from vizkit.models.recording.forward import Pass
from vizkit.models.sources.loading import Loaded
from vizkit.traces import Tokens

TITLE, SAME_ROWS = "TNT", False
MODULES = ("tnt",)


def expected(model: nn.Module) -> int:
    return 2 * len(model.blocks)  # pyright: ignore


def translated(loaded: Loaded, size_hw: tuple[int, int], result: Pass) -> Translated:
    embed: nn.Module = loaded.model.pixel_embed  # pyright: ignore
    height, width = size_hw
    rows, columns = (int(n) for n in embed.dynamic_feat_size((height, width)))  # pyright: ignore
    words = int(embed.new_patch_size[0]), int(embed.new_patch_size[1])  # pyright: ignore
    sentences = Tokens("patches", ("cls",), (rows, columns), stride=width / columns)
    inner = Tokens("words", (), (rows * words[0], columns * words[1]), stride=width / columns / words[1])
    assert inner.grid is not None
    inside, everywhere = window_ids(inner.grid, words), all_ids(len(sentences))
    attention = [
        attention_of(call, inner, inner, inside, inside)
        if "attn_in" in call.path
        else attention_of(call, sentences, sentences, everywhere, everywhere)
        for call in result.calls
        if call.weights is not None
    ]
    features = [
        features_of(f"blocks.{i}", values, special, sentences)
        for i, (values, special) in enumerate(zip(result.maps, result.specials, strict=True))
    ]
    cam = cam_features(result, sentences)
    return Translated(attention, features, expected(loaded.model), cam=cam)
