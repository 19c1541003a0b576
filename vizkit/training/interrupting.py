"""A request to stop is followed: at once while nothing has begun, and then after the present step."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def terminable() -> Iterator[None]:
    """Within it SIGTERM does what Ctrl-C does: it raises KeyboardInterrupt."""
    with _handled((signal.SIGTERM,), signal.default_int_handler):
        yield


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Within it SIGTERM and Ctrl-C only set the event that it gives."""
    stop = threading.Event()
    with _handled((signal.SIGTERM, signal.SIGINT), lambda *_: stop.set()):
        yield stop


@contextmanager
def _handled(signals: tuple[signal.Signals, ...], handler: Callable[[int, Any], Any]) -> Iterator[None]:
    """Another thread than the main one hears no signals."""
    usual = {}
    if threading.current_thread() is threading.main_thread():
        usual = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, before in usual.items():
            signal.signal(number, before)
