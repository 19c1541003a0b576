"""What all sessions of a server share, as much as its memory may hold: models, traces, and results made of them.

Streamlit's own caches count entries, and a trace takes a megabyte or a gigabyte. Here one budget of bytes holds for
everything together, and what was not asked for the longest goes first.
"""

import functools
import inspect
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields, is_dataclass
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from vizkit.device import DEVICE
from vizkit.settings import settings
from vizkit.shortage import allocator

ENTRY_BYTES = 1024  # of the objects around the numbers
TRIMMED_BYTES = 128 * 2**20
P = ParamSpec("P")
T = TypeVar("T")


class Turn:
    """Only one session makes a value; the others wait for it. The same one may ask again while it makes it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()


class Shelf:
    """Values by key, at most `limit_bytes` of them together. What is larger alone is given, and not kept."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes, self.bytes, self._since_trim = limit_bytes, 0, 0
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._turns: weakref.WeakValueDictionary[Hashable, Turn] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`, made once by whoever asks first. What `make` raises is kept for nobody."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
            turn = self._turns.setdefault(key, Turn())
        if not turn.lock.acquire(blocking=False):
            with DEVICE.laid_down():  # whose turn it is may wait for the device
                turn.lock.acquire()
        try:
            with self._lock:
                if key in self._kept:
                    return self._kept[key][0]
            value = make()
            self.put(key, value)
            return value
        finally:
            turn.lock.release()

    def find(self, key: Hashable) -> Any:
        """The value of `key`; None where none is kept."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key, (None, 0))[0]

    def put(self, key: Hashable, value: object) -> None:
        """Keep what was made elsewhere; what has not been read for the longest makes room."""
        size = bytes_of(value)
        with self._lock:
            self._drop(key)
            if size > self.limit_bytes:
                return
            self._kept[key] = value, size
            self.bytes += size
            while self.bytes > self.limit_bytes:
                self._drop(next(iter(self._kept)))
            self._since_trim += size  # what making it took is free again, and soon what makes room for it
            trim = self._since_trim > TRIMMED_BYTES
            if trim:
                self._since_trim = 0
        if trim:
            allocator("malloc_trim", 0)  # else glibc keeps what lies between things still in use

    def forget(self, belongs: Callable[[Any], bool]) -> None:
        """Let go of all keys that belong to something."""
        with self._lock:
            for key in [key for key in self._kept if belongs(key)]:
                self._drop(key)

    def _drop(self, key: Hashable) -> None:
        self.bytes -= self._kept.pop(key, (None, 0))[1]

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept


@functools.cache
def shelf() -> Shelf:
    """The one of this process."""
    return Shelf(settings().cache_bytes)


class Remembered(Generic[P, T]):
    """A function whose values stand on the shelf, under its name and those arguments that do not begin with “_”."""

    def __init__(self, function: Callable[P, T]) -> None:
        functools.update_wrapper(self, function)
        self.function, self.signature = function, inspect.signature(function)
        self.name = f"{function.__module__}.{function.__qualname__}"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        given = self.signature.bind(*args, **kwargs)
        given.apply_defaults()
        named = tuple(value for name, value in given.arguments.items() if not name.startswith("_"))
        return shelf().get((self.name, *named), lambda: self.function(*args, **kwargs))

    def clear(self) -> None:
        shelf().forget(lambda key: key[0] == self.name)


def remembered(function: Callable[P, T]) -> Remembered[P, T]:
    return Remembered(function)


def forget(argument: object) -> None:
    """Let go of everything that was made for this argument, by any function."""
    shelf().forget(lambda key: argument in key)


def bytes_of(value: object) -> int:
    """About what an object keeps in memory, counting every array once: its tensors and arrays, and those of what it is
    made of."""
    sizes: dict[int, int] = {}
    collect(value, sizes, set())
    return ENTRY_BYTES + sum(sizes.values())


def collect(value: Any, sizes: dict[int, int], seen: set[int]) -> None:
    """Bytes by the place in memory, or by the object where it has none of its own."""
    if id(value) in seen:
        return
    seen.add(id(value))
    torch = sys.modules.get("torch")  # without it nothing here is a tensor
    if torch is not None and isinstance(value, torch.Tensor):
        storage = value.untyped_storage()
        sizes[storage.data_ptr() or id(value)] = storage.nbytes()
    elif torch is not None and isinstance(value, torch.nn.Module):
        for tensor in (*value.parameters(), *value.buffers()):
            collect(tensor, sizes, seen)
    elif isinstance(value, np.ndarray):
        whole = value
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        sizes[whole.ctypes.data or id(whole)] = whole.nbytes
    elif is_dataclass(value) and not isinstance(value, type):
        value = getattr(value, "there", value)  # what is fetched of it later is as much again at most
        for part in fields(value):
            collect(getattr(value, part.name), sizes, seen)
    elif isinstance(value, dict):
        for part in (*value.keys(), *value.values()):
            collect(part, sizes, seen)
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            collect(part, sizes, seen)
    else:
        sizes[id(value)] = sys.getsizeof(value)
