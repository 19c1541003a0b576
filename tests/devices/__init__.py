"""A device that is none: tensors that say they lie elsewhere, and are computed on the CPU as if on Apple's GPUs.

`pretended()` makes `NAME` a device: it knows no float64, and an operation on its tensors refuses those of the CPU, but
for single numbers, as a real one does, and a generator of the CPU. So a float64 on a device, or a tensor that somebody
forgot to move, is found on a machine that has no such device.
"""

from contextlib import contextmanager, nullcontext

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

__all__ = ["NAME", "ElsewhereError", "fetching", "pretended"]

NAME = "lazy"  # a device that PyTorch is built with and that needs none
WIDE = (torch.float64, torch.complex128)
ATEN = torch.ops.aten
MIXED = (ATEN._to_copy.default, ATEN.to.device, ATEN.copy_.default)
"""Operations that take tensors of the CPU too; `INDEXED` take places on the CPU, where what is indexed is not."""
INDEXED = (ATEN.index.Tensor, ATEN.index_put_.default, ATEN.index_put.default)


FETCHED = []
"""The bytes of every tensor that was copied from the device to the CPU."""


class ElsewhereError(RuntimeError):
    """What Apple's GPUs refuse."""


class There(torch.Tensor):
    """A tensor of the device; `inner` is where its numbers are."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner):
        there = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device(NAME, 0),
        )
        there.inner = inner
        return there

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return computed(func, args, kwargs or {})

    def __repr__(self):
        return f"There({self.inner})"

    def tolist(self):
        return self.inner.tolist()

    def untyped_storage(self):
        return self.inner.untyped_storage()

    def numpy(self, **_):
        raise ElsewhereError(f"A tensor of {NAME} becomes no array; copy it to the CPU first.")

    __array__ = numpy


class _Everywhere(TorchDispatchMode):
    """Sees what is made with `device=NAME`, before there is a tensor."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return computed(func, args, kwargs or {})


@contextmanager
def pretended():
    """Within it `NAME` is a device. What imports parts of PyTorch that are imported late has to be imported before."""
    autocast, swap = torch.is_autocast_enabled, torch.__future__.get_swap_module_params_on_conversion()
    torch.is_autocast_enabled = lambda kind="cpu": kind != NAME and autocast(kind)
    torch.__future__.set_swap_module_params_on_conversion(True)  # a moved parameter stays the optimiser's
    torch._C._set_only_lift_cpu_tensors(True)  # torch.tensor(…, device=NAME) comes by here, as in FakeTensorMode
    try:
        with _Everywhere():
            yield
    finally:
        torch._C._set_only_lift_cpu_tensors(False)
        torch.is_autocast_enabled = autocast
        torch.__future__.set_swap_module_params_on_conversion(swap)


@contextmanager
def fetching():
    """Gives the list in which the bytes of what is fetched meanwhile are written, tensor by tensor."""
    FETCHED.clear()
    yield FETCHED


def computed(func, args, kwargs):
    """An operation on the CPU, whose results lie where its arguments or its `device` say."""
    given, _ = tree_flatten((args, kwargs))
    there = any(isinstance(each, There) for each in given)
    if there and func not in MIXED:
        together = (args[0], *args[2:]) if func in INDEXED and isinstance(args[0], There) else (args, kwargs)
        written = args[:1] if func._schema.is_mutable else ()
        for each in tree_flatten(together)[0]:
            if (
                isinstance(each, torch.Tensor)
                and not isinstance(each, There)
                and (each.dim() or any(each is one for one in written))
            ):
                raise ElsewhereError(f"{func}: a tensor of the CPU meets one of {NAME}")
    device = next((each for each in given if isinstance(each, torch.device)), None)
    there = there if device is None else device.type == NAME
    if there and any(isinstance(each, torch.Generator) for each in given):
        raise ElsewhereError(f"{func}: {NAME} draws nothing from a generator of the CPU")

    def inner(each):
        if isinstance(each, torch.device) and each.type == NAME:
            return torch.device("cpu")
        return each.inner if isinstance(each, There) else each

    def outer(each):
        if not isinstance(each, torch.Tensor) or not there:
            return each
        if each.dtype in WIDE:
            raise ElsewhereError(f"{func}: {NAME} has no {each.dtype}")
        return next((one for one in given if isinstance(one, There) and one.inner is each), There(each))

    with torch.inference_mode(False) if torch.is_inference_mode_enabled() else nullcontext(), torch.no_grad():
        out = func(*tree_map(inner, args), **tree_map(inner, kwargs))
        if isinstance(args[func is ATEN.copy_.default] if args else None, There) and func in MIXED and not there:
            FETCHED.append(out.nbytes)
        return args[0] if func is ATEN.copy_.default else tree_map(outer, out)
