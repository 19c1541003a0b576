"""The locks of a process. The device: one thread at a time runs models; who waits for what another thread makes lays it
down, for that other may need it. The imports: Python locks modules one by one, and two threads that import parts of one
package in another order are both given some that are half made."""

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")


class Device:
    """A lock that its thread may take several times, and lay down altogether."""

    def __init__(self) -> None:
        self._lock, self._owner, self._depth = threading.Lock(), 0, 0

    def acquire(self, blocking: bool = True, timeout: float | int = -1) -> bool:
        if self._owner != threading.get_ident():
            if not self._lock.acquire(blocking, timeout):
                return False
            self._owner = threading.get_ident()
        self._depth += 1
        return True

    def release(self) -> None:
        if self._owner != threading.get_ident():
            raise RuntimeError("Only the thread that holds the device can give it back.")
        self._depth -= 1
        if not self._depth:
            self._owner = 0
            self._lock.release()

    def __enter__(self) -> "Device":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    @contextmanager
    def laid_down(self) -> Iterator[None]:
        """Where this thread holds it, others have it in the meantime."""
        depth = self._depth if self._owner == threading.get_ident() else 0
        for _ in range(depth):
            self.release()
        try:
            yield
        finally:
            for _ in range(depth):
                self.acquire()


DEVICE = Device()
IMPORTING = threading.RLock()


def import_alone(name: str) -> ModuleType:
    """A module of ours that is imported when it is needed, one thread at a time."""
    with IMPORTING:
        return import_module(name)


class cached_property(functools.cached_property[T]):  # noqa: N801  (it takes the place of the other)
    """Of what may wait, for a download or for the device. That of Python 3.11 holds a lock for all instances: one
    session would wait for the values of another, with the device in hand."""

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.attrname] = self.func(instance)
        return value
