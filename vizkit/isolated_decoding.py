"""Pictures that may be slow to decode, or made to be: in processes of their own, with limits on time and memory.

A decoder serves one picture after another and is ended when a picture takes too long, so nothing that a file does
reaches further than its own refusal: no endless loop, no full memory, no crash.
"""

import atexit
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import numpy as np
from PIL import AvifImagePlugin

from vizkit.decoding import ImageError, damaged, decode

__all__ = ["CPU_S", "PLACES", "WAIT_S", "WALL_S", "BusyError", "Decoder", "decode_isolated", "place", "warm_up"]

CPU_S = 2.5  # of the processor, on which a busy machine has no influence
WALL_S = 15.0  # where the processor's time cannot be limited, or a decoder sleeps
WAIT_S = 20.0  # for a place
MEMORY_BYTES = 2**30  # decoding at the limits takes up to 0.7 GB
PLACES = 4  # decoders, for all sessions together

_QUESTION = struct.Struct("<QId")  # bytes that follow, longest side, seconds
_ANSWER = struct.Struct("<?IIH")  # whether it is refused, rows, columns, bytes of text; then the text and the pixels


class BusyError(ImageError):
    """There was no place to decode a picture; it may well be read at another moment."""


class Decoder:
    """A process that decodes pictures, one after another."""

    def __init__(self) -> None:
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-c", "from vizkit.isolated_decoding import serve; serve()"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, env=os.environ | environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.questions, self.answers = self.process.stdin, self.process.stdout

    def decode(self, data: bytes, max_side: int) -> tuple[np.ndarray, str]:
        """As `decoding.decode`. Raises EOFError or OSError when the process has ended over it."""
        end = threading.Timer(WALL_S, self.process.kill)
        end.daemon = True
        end.start()
        try:
            self.questions.write(_QUESTION.pack(len(data), max_side, CPU_S))
            self.questions.write(data)
            self.questions.flush()
            refused, rows, columns, words = _ANSWER.unpack(_read(self.answers, _ANSWER.size))
            text = _read(self.answers, words).decode()
            if refused:
                raise ImageError(text)
            return np.frombuffer(_read(self.answers, rows * columns * 3), np.uint8).reshape(rows, columns, 3), text
        finally:
            end.cancel()

    def close(self) -> int:
        """End the process; returns how it ended."""
        self.process.kill()
        with suppress(OSError):
            self.questions.close()
        self.answers.close()
        return self.process.wait()


_idle: list[Decoder] = []  # the one used last comes first, so that the others stay few
_places = threading.BoundedSemaphore(PLACES)


@contextmanager
def place(places: threading.Semaphore) -> Iterator[None]:
    """One of a few places, in the order of asking. Raises BusyError when there is none for too long."""
    if not places.acquire(timeout=WAIT_S):
        raise BusyError("Many pictures are being opened at this moment; try again a little later.")
    try:
        yield
    finally:
        places.release()


def decode_isolated(data: bytes, max_side: int) -> tuple[np.ndarray, str]:
    """As `decoding.decode`, within the limits above. Raises ImageError, BusyError when all decoders are taken."""
    with place(_places):
        decoder = _idle_or_new()
        try:
            answer = decoder.decode(data, max_side)
        except ImageError:
            _idle.append(decoder)
            raise
        except (EOFError, OSError, struct.error, ValueError):
            # Killed by a limit, or crashed: whatever this file's decoder answered, its end counts.
            late = decoder.close() in (-getattr(signal, "SIGPROF", 0), -getattr(signal, "SIGKILL", 0))
            raise (_too_slow() if late else damaged()) from None
        except BaseException:
            decoder.close()
            raise
        _idle.append(decoder)
        return answer


def _too_slow() -> ImageError:
    return ImageError(f"Decoding the picture takes more than {CPU_S} seconds; save a smaller copy as JPEG.")


def warm_up() -> None:
    """Have a decoder ready, so that the first picture need not wait for its start."""
    if not _idle:
        _idle.append(Decoder())


def _idle_or_new() -> Decoder:
    while True:
        try:
            decoder = _idle.pop()
        except IndexError:
            return Decoder()
        if decoder.process.poll() is None:
            return decoder
        decoder.close()


def _read(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


@atexit.register
def _close_all() -> None:
    while _idle:
        _idle.pop().close()


def _forget() -> None:
    """After a fork the decoders are the parent's: two processes must not talk to one."""
    global _places
    _places = threading.BoundedSemaphore(PLACES)
    for decoder in _idle:
        decoder.process.returncode = 0  # nor may its end be waited for
        decoder.questions.close()
        decoder.answers.close()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# ---- in the process of a decoder -------------------------------------------------------------------------------------
def serve() -> None:
    """Answer questions on standard input until it ends."""
    AvifImagePlugin.DEFAULT_MAX_THREADS = 2  # the stacks of one for each core would fill the memory
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, at whose end the input ends
    with suppress(ImportError):  # on Windows only the time is limited
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while question := questions.read(_QUESTION.size):
        size, max_side, seconds = _QUESTION.unpack(question)
        _limit(seconds)
        try:
            rgb, text = decode(questions.read(size), max_side)
            refused = False
        except ImageError as error:
            rgb, text, refused = np.empty((0, 0, 3), np.uint8), str(error), True
        _limit(0)
        words = text.encode()
        answers.write(_ANSWER.pack(refused, *rgb.shape[:2], len(words)) + words)
        answers.write(rgb.tobytes())
        answers.flush()


def _limit(seconds: float) -> None:
    """The system ends this process after so much of the processor's time from now on; 0: not any more."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
