"""Strangers' files in processes of their own, with limits on time and memory.

A worker answers one question after another and is ended when one takes too long, so nothing that a file does reaches
further than its own refusal: no endless loop, no full memory, no crash.
"""

import atexit
import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

WALL_S = 15.0  # where the processor's time cannot be limited, or a worker sleeps
WAIT_S = 20.0  # for a place
MEMORY_BYTES = 2**30  # decoding a picture at the limits takes up to 0.7 GB, the largest tokenizers 0.5 GB

_QUESTION = struct.Struct("<Qd")  # bytes that follow, seconds
_ANSWER = struct.Struct("<?Q")  # whether it is refused, bytes that follow: the sentence, or the answer


class RefusedError(Exception):
    """A worker refuses a question; the message is its sentence."""


class EndedError(Exception):
    """A worker has ended over a question: killed by a limit of time (`late`), or crashed."""

    def __init__(self, late: bool) -> None:
        super().__init__("too slow" if late else "crashed")
        self.late = late


class Worker:
    """A process that answers the questions of `module`, by its function `answer`, one after another.

    `holds`: what the asker knows it to keep from an earlier question.
    """

    def __init__(self, module: str) -> None:
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "OPENBLAS_NUM_THREADS": "1"}
        environment["TOKENIZERS_PARALLELISM"] = "false"
        command = [sys.executable, "-c", f"from {module} import answer; import vizkit.isolated as i; i.serve(answer)"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, env=os.environ | environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.questions, self.answers, self.holds = self.process.stdin, self.process.stdout, ""

    def ask(self, *question: bytes, seconds: float) -> bytes:
        """`seconds`: of the processor, on which a busy machine has no influence.

        Raises RefusedError; EOFError or OSError when the process has ended over it.
        """
        end = threading.Timer(WALL_S, self.process.kill)
        end.daemon = True
        end.start()
        try:
            self.questions.write(_QUESTION.pack(sum(map(len, question)), seconds))
            for part in question:
                self.questions.write(part)
            self.questions.flush()
            refused, size = _ANSWER.unpack(_read(self.answers, _ANSWER.size))
            answer = _read(self.answers, size)
        finally:
            end.cancel()
        if refused:
            raise RefusedError(answer.decode())
        return answer

    def close(self) -> int:
        """End the process; returns how it ended."""
        self.process.kill()
        with suppress(OSError):
            self.questions.close()
        self.answers.close()
        return self.process.wait()


class Pool:
    """The workers of a module, for all sessions together: those at work have one of `places`, the others are `idle`."""

    def __init__(self, module: str, places: int, busy: type[ValueError]) -> None:
        self.module, self.places, self.busy = module, threading.BoundedSemaphore(places), busy
        self.idle: list[Worker] = []  # the one used last comes first, so that the others stay few
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: self._forget(places))

    @contextmanager
    def worker(self, holds: str = "") -> Iterator[Worker]:
        """One for a while, of the idle ones that which `holds` this. Raises EndedError, and `busy` where there is none
        for too long."""
        with place(self.places, self.busy):
            worker = self._idle_or_new(holds)
            try:
                yield worker
            except RefusedError:
                self.idle.append(worker)
                raise
            except (EOFError, OSError, struct.error):
                # Killed by a limit, or crashed: whatever it answered, its end counts.
                late = worker.close() in (-getattr(signal, "SIGPROF", 0), -getattr(signal, "SIGKILL", 0))
                raise EndedError(late) from None
            except BaseException:
                worker.close()
                raise
            self.idle.append(worker)

    def warm_up(self) -> None:
        """Have a worker ready, so that the first question need not wait for its start."""
        if not self.idle:
            self.idle.append(Worker(self.module))

    def close(self) -> None:
        while self.idle:
            self.idle.pop().close()

    def _idle_or_new(self, holds: str) -> Worker:
        while True:
            try:
                index = next((i for i, worker in enumerate(self.idle) if worker.holds == holds), -1)
                worker = self.idle.pop(index)
            except IndexError:  # there is none, or another thread was faster
                return Worker(self.module)
            if worker.process.poll() is None:
                return worker
            worker.close()

    def _forget(self, places: int) -> None:
        """After a fork the workers are the parent's: two processes must not talk to one."""
        self.places = threading.BoundedSemaphore(places)
        for worker in self.idle:
            worker.process.returncode = 0  # nor may its end be waited for
            worker.questions.close()
            worker.answers.close()
        self.idle.clear()


@contextmanager
def place(places: threading.Semaphore, busy: type[ValueError]) -> Iterator[None]:
    """One of a few places, in the order of asking. Raises `busy` when there is none for too long."""
    if not places.acquire(timeout=WAIT_S):
        raise busy("Many files are being opened at this moment; try again a little later.")
    try:
        yield
    finally:
        places.release()


def _read(stream: IO[bytes], size: int) -> bytes:
    if size > MEMORY_BYTES:  # more than it can have made
        raise EOFError
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


# ---- in the process of a worker --------------------------------------------------------------------------------------
def serve(answer: Callable[[bytes], bytes]) -> None:
    """Answer questions on standard input until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, at whose end the input ends
    with suppress(ImportError):  # on Windows only the time is limited
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    while question := questions.read(_QUESTION.size):
        size, seconds = _QUESTION.unpack(question)
        _limit(seconds)
        try:
            content, refused = answer(questions.read(size)), False
        except RefusedError as error:
            content, refused = str(error).encode(), True
        _limit(0)
        answers.write(_ANSWER.pack(refused, len(content)))
        answers.write(content)
        answers.flush()


def _limit(seconds: float) -> None:
    """The system ends this process after so much of the processor's time from now on; 0: not any more."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
