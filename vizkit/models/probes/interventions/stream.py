"""The residual stream of a model: what leaves each block, and a pass that begins after a block with another stream.

A second model that shares all weights is hooked, so the model itself is never touched: other threads may be running it.
"""

import re
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vizkit.models.families import family
from vizkit.models.probes.flow import watched
from vizkit.models.probes.multiply_adds import copy_with
from vizkit.models.sources.loaded import Loaded
from vizkit.traces import Features, NotApplicable, Trace

PARTS = {"attention": ("attn", "self_attention"), "mlp": ("mlp",)}
"""What the two parts of a block are called: in timm's models and ours, in torchvision's."""
NO_BLOCKS = "does not consist of blocks that add attention and an MLP to one stream"


def blocks_of(loaded: Loaded) -> tuple[str, ...]:
    """The paths of the blocks, in the order of the pass. NotApplicable where a model has none."""
    paths = [path for path, module in loaded.model.named_modules() if all(_part(module, part) for part in PARTS)]
    if not paths or any(re.match(rf"{re.escape(a)}\.", b) for a in paths for b in paths):
        raise NotApplicable(f"{loaded.name} {NO_BLOCKS}.")
    return tuple(paths)


def adds_to(loaded: Loaded, block: str, part: str) -> str:
    """The path of what a block adds: "attention" or "mlp"; of "stream" the block itself."""
    if part == "stream":
        return block
    return f"{block}.{_part(loaded.model.get_submodule(block), part)}"


def _part(module: nn.Module, part: str) -> str | None:
    return next((name for name in PARTS[part] if isinstance(getattr(module, name, None), nn.Module)), None)


@torch.no_grad()
def outputs_of(
    loaded: Loaded, pixels: Float[Tensor, "image channel height width"], paths: Sequence[str]
) -> dict[str, Tensor]:
    """What some modules give in one pass, as it is. NotApplicable where one gives several tensors, or runs twice."""
    seen: dict[str, Tensor] = {}

    def see(path: str, _: tuple, out: object) -> None:
        if path in seen or not isinstance(out, Tensor) or len(out) != len(pixels):  # MobileViT: groups of its pixels
            raise NotApplicable(f"{loaded.name} {NO_BLOCKS}.")
        seen[path] = out.detach()

    watched(loaded.model, paths, see)(pixels.to(loaded.device))
    return seen


def streams_of(loaded: Loaded, pixels: Float[Tensor, "image channel height width"]) -> tuple[Tensor, ...]:
    """What leaves every block, of each image: (image, token, channel), or in a Swin (image, row, column, channel)."""
    return tuple(outputs_of(loaded, pixels, blocks_of(loaded)).values())


def after_blocks(
    loaded: Loaded, trace: Trace, pixels: Float[Tensor, "1 channel height width"]
) -> tuple[str, tuple[Features, ...]]:
    """ "block" and what leaves every block, at its places; "stage" and what leaves the stages where no more is known.

    That is what `trace` holds of the same image, but for models whose trace holds less, a Swin's: it runs once more.
    """
    noun = "block" if all(each.name.startswith("blocks.") for each in trace.features) else "stage"
    known = family(loaded.model).tokens_of(loaded.model, trace.image_size)
    if (noun == "block" and trace.features) or not known:
        return noun, trace.features
    places = {len(tokens): tokens for tokens in known}
    try:
        outputs = {path: out[0].flatten(0, -2) for path, out in outputs_of(loaded, pixels, blocks_of(loaded)).items()}
        return "block", tuple(Features(path, out.float().cpu(), places[len(out)]) for path, out in outputs.items())
    except (NotApplicable, KeyError):  # no such blocks, or where their tokens lie is not known
        return noun, trace.features


class _Gate(nn.Module):
    """A block that is passed by, gives what it is given to give, or does its work, as the runner says."""

    def __init__(self, block: nn.Module, number: int, runner: "StreamRunner") -> None:
        super().__init__()
        self.block, self.number = block, number
        self._runner = (runner,)  # no submodule

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        (runner,) = self._runner
        if self.number < runner.after:
            return x
        if self.number == runner.after:
            return runner.stream
        return self.block(x, *args, **kwargs)


class StreamRunner:
    """Runs a model from a block on. For one thread."""

    def __init__(self, loaded: Loaded, pixels: Float[Tensor, "1 channel height width"]) -> None:
        """`pixels`: any image of the right size; what is not passed by, such as the embedding, runs on it."""
        self.loaded, self.pixels = loaded, pixels.to(loaded.device)
        self.after = -1
        self.stream: Tensor | None = None
        self.model = copy_with(loaded.model)
        for number, path in enumerate(blocks_of(loaded)):
            self.model.set_submodule(path, _Gate(self.model.get_submodule(path), number, self))

    @torch.no_grad()
    def __call__(self, after: int, stream: Float[Tensor, "image *place channel"]) -> Float[Tensor, "image label"]:
        """The logits of a batch of streams that leave block `after`, from 0."""
        self.after, self.stream = after, stream
        many = self.pixels.expand(len(stream), -1, -1, -1)
        return self.loaded.logits_of(self.model(many), len(stream))
