"""Being asked to stop: a step is always finished."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Within it SIGTERM and Ctrl-C only set the event that it gives. Another thread than the main one hears neither."""
    asked, usual = threading.Event(), {}
    if threading.current_thread() is threading.main_thread():
        for each in (signal.SIGTERM, signal.SIGINT):
            usual[each] = signal.signal(each, lambda *_: asked.set())
    try:
        yield asked
    finally:
        for each, handler in usual.items():
            signal.signal(each, handler)
