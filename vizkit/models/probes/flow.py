"""A model as a flow of blocks: what goes in, what comes out, and what it costs in multiply–adds, for one image."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vizkit.models.families import family
from vizkit.models.probes.multiply_adds import copy_with, shape_of, work_of
from vizkit.models.sources.loaded import Loaded

Shape = tuple[int, ...]
CONTAINERS = ("blocks", "layers", "features")
"""Where a stage, or an encoder, keeps its blocks."""


@dataclass(frozen=True)
class Step:
    """One block, in the order of the forward pass. Shapes are those of every tensor that goes in or out, without the
    image axis. `tokens_in` and `tokens_out` count tokens, special ones too, or places of a map; None for other shapes.
    `calls`: how often the block runs for one image (twice for two streams); `multiply_adds` are those of all calls.
    """

    path: str
    kind: str
    shapes_in: tuple[Shape, ...]
    shapes_out: tuple[Shape, ...]
    tokens_in: int | None
    tokens_out: int | None
    multiply_adds: int
    attention_multiply_adds: int
    parameters: int
    calls: int


def flow(loaded: Loaded) -> tuple[Step, ...]:
    """Every block of a model in the pass of one image of the model's own input size; no image is needed.

    `attention_multiply_adds`: the part of products of two activations, Q Kᵀ and weights · V, which grows with the
    square of the number of tokens.
    """
    passed: dict[str, list[tuple[tuple[Shape, ...], tuple[Shape, ...]]]] = {}

    def see(path: str, inputs: tuple, out: object) -> None:
        passed.setdefault(path, []).append((shapes(inputs), shapes(out)))

    def before(model: nn.Module) -> None:
        passed.clear()
        watch(model, [path for path, _ in blocks(model)], see)

    shape = shape_of(loaded)
    image, last = shape[1:], getattr(family(loaded.model), "CHANNELS_LAST", False)
    work = work_of(loaded.model, shape, before)
    steps = []
    for path, calls in passed.items():  # in the order of the first call
        module, (into, out) = loaded.model.get_submodule(path), calls[0]
        steps.append(
            Step(
                path,
                type(module).__name__,
                into,
                out,
                tokens(into, image, last),
                tokens(out, image, last),
                work.total[path],
                work.products[path],
                sum(p.numel() for p in module.parameters()),
                len(calls),
            )
        )
    return tuple(steps)


@torch.no_grad()
def strengths(loaded: Loaded, pixels: Tensor) -> dict[str, Tensor]:
    """By the paths of `flow` how long the vectors are that leave a block on this image, (1, channel, height, width):
    (token,), or (row, column) of a map. Of several streams the last, as in `flow`; blocks that give neither are left
    out. Of a block that runs twice what it gave at first."""
    lengths: dict[str, Tensor] = {}
    last = getattr(family(loaded.model), "CHANNELS_LAST", False)

    def see(path: str, _: tuple, out: object) -> None:
        value = out[-1] if isinstance(out, tuple | list) and out else out
        if path in lengths or not isinstance(value, Tensor) or value.dim() not in (3, 4) or len(value) != 1:
            return
        lengths[path] = value[0].float().norm(dim=-1 if value.dim() == 3 or last else 0).cpu()

    watched(loaded.model, [path for path, _ in blocks(loaded.model)], see)(pixels.to(loaded.device, loaded.dtype))
    return lengths


def watched(model: nn.Module, paths: Sequence[str], see: Callable[[str, tuple, object], None]) -> nn.Module:
    """A second model that shares all weights and tells what passes through some modules. The first stays without
    hooks: other sessions may be running it."""
    clone = copy_with(model)
    watch(clone, paths, see)
    return clone


def watch(model: nn.Module, paths: Sequence[str], see: Callable[[str, tuple, object], None]) -> None:
    for path in paths:
        model.get_submodule(path).register_forward_hook(lambda _, inputs, out, path=path: see(path, inputs, out))


def blocks(module: nn.Module, path: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Embedding, blocks, norms and head: stages and lists are opened, blocks are not."""
    for name, child in module.named_children():
        here = f"{path}.{name}" if path else name
        if isinstance(child, nn.Sequential | nn.ModuleList) or any(
            isinstance(getattr(child, each, None), nn.Sequential | nn.ModuleList) for each in CONTAINERS
        ):
            yield from blocks(child, here)
        elif not isinstance(child, nn.Identity | nn.Dropout):
            yield here, child


def shapes(value: object) -> tuple[Shape, ...]:
    """Of all tensors in a tuple or list, or of the one tensor, without the axis of the one image; no single numbers."""
    several = value if isinstance(value, tuple | list) else (value,)
    sizes = [each.shape for each in several if isinstance(each, Tensor) and each.dim() > 1]
    return tuple(tuple(shape[1:] if shape[0] == 1 else shape) for shape in sizes)  # TNT's words: (patch, word, channel)


def tokens(several: tuple[Shape, ...], image: Shape, channels_last: bool) -> int | None:
    """Of the last stream. `channels_last`: maps are known to be (row, column, channel), as in Swin."""
    shape = several[-1] if several else ()
    if channels_last and len(shape) == 3 and shape != image:
        return shape[0] * shape[1]
    counted = tokens_in(shape, image)
    return counted and counted[0]


def tokens_in(shape: Shape, image: Shape) -> tuple[int, str] | None:
    """How many vectors a tensor holds, and whether they are "tokens" of a sequence or "places" of a map; None where a
    shape does not say so. `image`: (channel, height, width), whose shape a map keeps, whichever axis is first.
    """
    if len(shape) == 2:
        return shape[0], "tokens"
    if len(shape) != 3 or len(image) != 3:
        return None

    def like_image(rows: int, columns: int) -> bool:
        return abs(rows / columns - image[1] / image[2]) <= 0.5 / columns

    channels_first, channels_last = like_image(shape[1], shape[2]), like_image(shape[0], shape[1])
    if channels_first == channels_last:  # as many channels as rows, or words in patches
        return None
    return (shape[1] * shape[2] if channels_first else shape[0] * shape[1]), "places"
