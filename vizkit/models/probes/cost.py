"""What a model takes: parameters, multiply–adds, memory of a pass, time on this device. One image unless said.

`multiply_adds` counts work, for every family; here are memory and time, which a device decides.
"""

import statistics
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from vizkit.models.families import family
from vizkit.models.probes.flow import flow
from vizkit.models.probes.model_functions import logits_of_batch
from vizkit.models.sources.loaded import Loaded, copy_with

PASSES, ENOUGH_S = 25, 4.0


@dataclass(frozen=True)
class Measured:
    """`answering_bytes`: see `held_answering`; `learning_bytes`: see `kept_learning`, None where no gradient comes
    through. `where`: the device in words.

    `seconds`: batch size → the median time of a pass for one image of the batch, the fastest and the slowest, of at
    least `passes`.
    """

    answering_bytes: int
    learning_bytes: int | None
    seconds: dict[int, tuple[float, float, float]]
    passes: int
    where: str


# ---- tokens ----------------------------------------------------------------------------------------------------------
def tokens_of(loaded: Loaded) -> tuple[int, ...]:
    """How many tokens, or places of a map, the blocks work on, in the order of the pass and each number once; special
    tokens are counted."""
    known = family(loaded.model).tokens_of(loaded.model, loaded.preprocessing.size_hw)
    if known:
        return tuple(len(tokens) for tokens in known)
    return tuple(dict.fromkeys(step.tokens_out for step in flow(loaded) if step.tokens_out))


# ---- memory ----------------------------------------------------------------------------------------------------------
class Live(TorchDispatchMode):
    """Counts the bytes of tensors that come into being while it is on, and those that have gone again."""

    def __init__(self, known: set[int]) -> None:
        super().__init__()
        self.known, self.now, self.most = known, 0, 0
        self.seen: dict[int, weakref.ref] = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        del types
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, Tensor):
                self.see(tensor.untyped_storage())
        return out

    def see(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self.known or key in self.seen:
            return

        def gone(_: weakref.ref, key: int = key, size: int = size) -> None:
            self.seen.pop(key, None)
            self.now -= size

        self.seen[key] = weakref.ref(storage, gone)
        self.now += size
        self.most = max(self.most, self.now)


def held_answering(loaded: Loaded, pixels: Tensor) -> int:
    """The most bytes that all tensors of a pass without gradients take at one moment, weights and input left out.

    Counted tensor by tensor as PyTorch makes and frees them; what a kernel needs for itself meanwhile is not seen.
    """
    pixels = pixels.to(loaded.device)
    held = [pixels, *loaded.model.parameters(), *loaded.model.buffers()]
    live = Live({tensor.untyped_storage()._cdata for tensor in held})
    with torch.no_grad(), live:
        logits_of_batch(loaded)(pixels)
    return live.most


def kept_learning(model: nn.Module, pixels: Tensor) -> int:
    """Bytes that a training step keeps from the forward to the backward pass, weights and buffers left out: what
    autograd saves, each storage once. The mode of the model is not changed, so in evaluation mode without dropout."""
    model = copy_with(model, _learning)
    held: dict[int, int] = {}
    weights = {tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            held[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        out = model(pixels)
        loss = sum(each.square().sum() for each in (out if isinstance(out, tuple | list) else [out]))
    del loss
    return sum(held.values())


def _learning(tensor: Tensor) -> Tensor:
    """The same numbers, of a weight as one that learns."""
    weight = isinstance(tensor, nn.Parameter)
    return nn.Parameter(tensor.detach(), requires_grad=tensor.is_floating_point()) if weight else tensor


# ---- time ------------------------------------------------------------------------------------------------------------
def seconds_of(
    loaded: Loaded, pixels: Tensor, tell: Callable[[], None] = lambda: None
) -> tuple[float, float, float, int]:
    """(median, fastest, slowest) seconds of a pass for one of the images (image, channel, height, width) that are
    already on the device, and how many passes there were. By the clock on the wall, after one pass to get warm; up to
    25 passes, at least 3, ending after 4 s. `tell` is called between passes and may raise."""
    pixels, ask = pixels.to(loaded.device), logits_of_batch(loaded)
    durations: list[float] = []
    with torch.no_grad():
        ask(pixels)
        while len(durations) < PASSES and (len(durations) < 3 or sum(durations) < ENOUGH_S):
            tell()
            _settle(loaded.device)
            start = time.perf_counter()
            ask(pixels)
            _settle(loaded.device)
            durations.append(time.perf_counter() - start)
    each = [seconds / len(pixels) for seconds in durations]
    return statistics.median(each), min(each), max(each), len(each)


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def device_in_words(loaded: Loaded) -> str:
    if loaded.device.type == "cuda":
        return torch.cuda.get_device_name(loaded.device)
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads > 1 else ''}" if loaded.device.type == "cpu" else str(loaded.device)


def measure(loaded: Loaded, pixels: Tensor, batch: int, tell: Callable[[str], None]) -> Measured:
    """Memory with one image, (1, channel, height, width), time with one and with `batch` copies of it.

    `tell` hears what comes next, before every pass, and may raise.
    """
    tell("memory without gradients")
    answering = held_answering(loaded, pixels)
    tell("memory of a training step")
    try:
        learning = kept_learning(loaded.model, pixels.to(loaded.device))
    except (RuntimeError, NotImplementedError):  # a pass that autograd cannot go back through
        learning = None
    seconds, passes = {}, PASSES
    for count in dict.fromkeys((1, batch)):
        words = f"time, {count} image{'s' if count > 1 else ''} at once"
        *times, made = seconds_of(
            loaded, pixels.expand(count, -1, -1, -1).contiguous(), lambda words=words: tell(words)
        )
        seconds[count], passes = (times[0], times[1], times[2]), min(passes, made)
    return Measured(answering, learning, seconds, passes, f"{device_in_words(loaded)}, torch {torch.__version__}")
