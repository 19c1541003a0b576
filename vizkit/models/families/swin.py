"""Swin v1 and v2 of timm and torchvision: windows rolled by the shift, padded where they do not divide, and merged
between the stages (Liu et al. 2021, § 3.2; Liu et al. 2022)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from torch import nn

from vizkit.geometry import merging, window_ids
from vizkit.models.families.translate import Translated, attention_of, cam_features, features_of, layer_features
from vizkit.models.recording.forward import Pass
from vizkit.models.recording.kinds import home, is_torchvision
from vizkit.models.recording.recorder import Call, Keep
from vizkit.models.sources.loading import Loaded
from vizkit.traces import Attention, Tokens

Size = tuple[int, int]
TITLE, SAME_ROWS = "Swin", False
CHANNELS_LAST = True
"""Its feature maps are (row, column, channel)."""

MODULES = ("swin_transformer", "swin_transformer_v2")


@dataclass(frozen=True)
class Block:
    """Where a block looks: its stage, its window and the shift that it really applies, in tokens."""

    path: str
    stage: int
    window: Size
    shift: Size


def matches(model: nn.Module) -> bool:
    return home(model) in MODULES and hasattr(model, "head")


def blocks(model: nn.Module, size_hw: Size) -> Iterator[Block]:
    """All blocks in the order of the forward pass, as the model will run them on an image of `size_hw`."""
    grids = [stage.grid for stage in tokens_of(model, size_hw) if stage.grid]
    if is_torchvision(model):
        for s, stage in enumerate(list(model.features)[1::2]):  # pyright: ignore
            for b, block in enumerate(stage):
                (height, width), (down, right) = block.attn.window_size, block.attn.shift_size
                # torchvision does not shift along an axis that one window covers.
                shift = (down if height < grids[s][0] else 0, right if width < grids[s][1] else 0)
                yield Block(f"features.{2 * s + 1}.{b}.attn", s, (height, width), shift)
        return
    for s, stage in enumerate(model.layers):  # pyright: ignore
        for b, block in enumerate(stage.blocks):
            yield Block(f"layers.{s}.blocks.{b}.attn", s, tuple(block.window_size), tuple(block.shift_size))


def tokens_of(model: nn.Module, size_hw: Size) -> tuple[Tokens, ...]:
    """The token grid of every stage: patches first, then halved by each merging, an odd edge being padded."""
    if is_torchvision(model):
        patch, count = tuple(model.features[0][0].stride), len(model.features) // 2  # pyright: ignore
    else:
        patch, count = tuple(model.patch_embed.patch_size), len(model.layers)  # pyright: ignore
    rows, columns = -(-size_hw[0] // patch[0]), -(-size_hw[1] // patch[1])
    tokens = []
    for s in range(count):
        tokens.append(Tokens(f"stage {s + 1}", (), (rows, columns), stride=float(patch[1] * 2**s)))
        rows, columns = -(-rows // 2), -(-columns // 2)
    return tuple(tokens)


def expected(model: nn.Module) -> int:
    stages = model.features[1::2] if is_torchvision(model) else [stage.blocks for stage in model.layers]  # pyright: ignore
    return sum(len(stage) for stage in stages)


def step_px(model: nn.Module, size_hw: Size) -> int:
    """A patch of the last stage: every merging halves the grid, which has to be even until then."""
    return max(round(tokens.stride) for tokens in tokens_of(model, size_hw))


def layer_at(model: nn.Module, size_hw: Size, index: int, call: Call) -> Attention:
    stages = tokens_of(model, size_hw)
    block = list(blocks(model, size_hw))[index]
    return placed(model, stages[block.stage], block, call)


def placed(model: nn.Module, stage: Tokens, block: Block, call: Call) -> Attention:
    assert stage.grid is not None
    ids = window_ids(stage.grid, block.window, block.shift, pad_first=is_torchvision(model))
    return attention_of(call, stage, stage, ids, ids, block.path)


def kept(model: nn.Module, keep: Keep) -> Keep:
    """A window's rows are few, and all of them are kept."""
    return replace(keep, rows=None)


def translated(loaded: Loaded, size_hw: Size, result: Pass) -> Translated:
    tokens = tokens_of(loaded.model, size_hw)
    planned = list(blocks(loaded.model, size_hw))
    attention: list[Attention] = []
    for index, (block, call) in enumerate(zip(planned, result.calls, strict=False)):
        if index and block.stage != planned[index - 1].stage:
            attention.append(merging(f"merging {block.stage}", tokens[block.stage - 1], tokens[block.stage]))
        if call.weights is not None:
            attention.append(placed(loaded.model, tokens[block.stage], block, call))
    features = [
        features_of(t.name, values, None, t) for t, values in zip(tokens, result.maps, strict=False) if result.maps
    ]
    cam = cam_features(result, tokens[-1], channels_last=True)
    by_layer = layer_features(result, attention)
    return Translated(attention, features, expected(loaded.model), cam=cam, by_layer=by_layer)
