"""Multiply–adds of a model, counted from shapes: the one place for every page, table and benchmark.

A multiplication and the addition after it count as one, as papers count (Dosovitskiy et al. 2020, Liu et al. 2021):
matrix products, convolutions and attention by formula; not sums, norms or softmax. So the count depends on the model
and the size of its input alone. PyTorch's FlopCounterMode knows some kernels of attention and not others, which makes
its count one of the version, the device and the padding that a kernel wants.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from vizkit.models.sources.loaded import Loaded, copy_with

Result = TypeVar("Result")


# ---- the counts ------------------------------------------------------------------------------------------------------
def counted(loaded: Loaded) -> int:
    """Multiply–adds of one image at the model's own input size, for a model of any family."""
    return work_of(loaded.model, shape_of(loaded)).total[""]


def shape_of(loaded: Loaded) -> tuple[int, ...]:
    """(image, channel, height, width) of one image at the model's own input size."""
    return (1, loaded.preprocessing.channels, *loaded.preprocessing.size_hw)


# ---- one pass --------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Work:
    """Multiply–adds by the path of a module, "" for the whole model; no entry, 0, where a module has none.

    `products`: those among `total` that multiply two tensors which both depend on the input: Q Kᵀ and weights · V.
    """

    total: Counter[str]
    products: Counter[str]


def work_of(model: nn.Module, shape: tuple[int, ...], before: Callable[[nn.Module], None] = lambda model: None) -> Work:
    """Of one pass of an input of this shape, its first axis the images, on tensors without content; a model that looks
    into its tensors on the way is run for real, on zeros. The model stays untouched: a copy that shares all weights
    runs. `before` gets each copy before its pass, for hooks of its own.
    """
    return run_hollow(model, shape, lambda copied, pixels: one_pass(copied, before, pixels))


def run_hollow(model: nn.Module, shape: tuple[int, ...], run: Callable[[nn.Module, Tensor], Result]) -> Result:
    """What `run` gives of a copy that shares all weights, and of pixels of this shape: of both without content, or for
    real, on zeros, where the model looks into its tensors."""
    weight = next((p for p in model.parameters() if p.is_floating_point()), torch.empty(()))
    try:
        return run(copy_with(model, without_content), weight.new_zeros(shape, device="meta"))
    except Exception:  # whatever a stranger's code says to such tensors; what is really wrong is raised again below
        return run(copy_with(model), weight.new_zeros(shape))


def one_pass(model: nn.Module, before: Callable[[nn.Module], None], pixels: Tensor) -> Work:
    before(model)
    counting = CountingWork(model)
    # Inference mode is what lets attention reach `CountingWork` whole, before PyTorch chooses a kernel for it.
    with torch.inference_mode(), counting:
        model(pixels)
    return Work(counting.total, counting.products)


def without_content(tensor: Tensor) -> Tensor:
    empty = torch.empty_like(tensor, device="meta")
    return nn.Parameter(empty, requires_grad=False) if isinstance(tensor, nn.Parameter) else empty


def follow_paths(model: nn.Module) -> list[str]:
    """The paths of the modules in which a pass is now, the innermost last. `model` gets hooks: give a copy."""
    inside: list[str] = []
    for path, module in model.named_modules():
        module.register_forward_pre_hook(lambda *_, path=path: inside.append(path))
        module.register_forward_hook(lambda *_: inside.pop() and None)
    return inside


class CountingWork(TorchDispatchMode):
    """Counts what is called while it is on, in this thread, and in which modules. `model` gets hooks: give a copy."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.total: Counter[str] = Counter()
        self.products: Counter[str] = Counter()
        self.inside = follow_paths(model)
        # Weights and all that is computed from nothing else. Held, so that no other tensor gets their address.
        self.constant = {_key(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        del types
        name, kwargs = func.overloadpacket.__name__, kwargs or {}
        if name not in FORMULAS:
            with self:  # in its parts, where it has any, such as the products of an einsum
                out = func.decompose(*args, **kwargs)
            if out is not NotImplemented:
                return out
        out = func(*args, **kwargs)
        given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        made = [each for each in tree_leaves(out) if isinstance(each, Tensor)]
        if name in FORMULAS:
            self.count(*FORMULAS[name](args, out))
        constant = all(_key(each) in self.constant for each in given)
        for each in made:  # what was written over is the same tensor
            self.constant.pop(_key(each), None)
            if constant:
                self.constant[_key(each)] = each
        return out

    def count(self, total: int, products: int, factors: tuple[Tensor, ...]) -> None:
        """`products` of `total` are between activations, unless one of the `factors` is known to be constant."""
        products = 0 if any(_key(each) in self.constant for each in factors) else products
        for path in {"", *self.inside}:
            self.total[path] += total
            self.products[path] += products


def _key(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


# ---- formulas --------------------------------------------------------------------------------------------------------
Operation = tuple[int, int, tuple[Tensor, ...]]
"""Multiply–adds, those of them between the factors, and these factors."""


def _product(a: Tensor, b: Tensor) -> Operation:
    """(…, row, inner) × (…, inner, column), or a vector on either side."""
    total = a.numel() * (b.shape[-1] if b.dim() > 1 else 1)
    return total, total, (a, b)


def _convolution(args: tuple, out: Tensor) -> Operation:
    """The kernel of one channel, (channel of the group, row, column), at every output, or input where transposed."""
    pixels, weight, transposed = args[0], args[1], args[6]
    return (pixels if transposed else out).numel() * prod(weight.shape[1:]), 0, ()


def _attention(query: Tensor, key: Tensor, value: Tensor) -> Operation:
    """(…, head, query, channel), (…, head, key, channel): Q Kᵀ and weights · V, masked or not."""
    total = prod(query.shape[:-1]) * key.shape[-2] * (query.shape[-1] + value.shape[-1])
    return total, total, (query, key, value)


def _whole_attention(tokens: Tensor) -> Operation:
    """PyTorch's fast path of self-attention, (image, token, channel): Q, K, V, W_O and the two products."""
    count, channels = tokens.shape[-2:]
    return 4 * tokens.numel() * channels + 2 * tokens.numel() * count, 2 * tokens.numel() * count, (tokens,)


def _encoder_layer(tokens: Tensor, hidden: int) -> Operation:
    """The fast path of a whole layer: attention and the MLP with `hidden` channels inside."""
    total, products, factors = _whole_attention(tokens)
    return total + 2 * tokens.numel() * hidden, products, factors


FORMULAS: dict[str, Callable[[tuple, Tensor], Operation]] = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot"), lambda args, _: _product(*args[:2])),
    **dict.fromkeys(("addmm", "baddbmm", "addmv", "addbmm"), lambda args, _: _product(*args[1:3])),
    "convolution": _convolution,
    "scaled_dot_product_attention": lambda args, _: _attention(*args[:3]),
    "_native_multi_head_attention": lambda args, _: _whole_attention(args[0]),
    "_transformer_encoder_layer_fwd": lambda args, _: _encoder_layer(args[0], args[14].shape[0]),
}
