"""The command line in processes of its own: to be killed, to be stopped, or two that meet as `accelerate launch` makes
them meet on two machines.

What the commands import takes longer than most of them do, so a process is forked from one that has imported it
(multiprocessing's fork server), unless it is to be started by `accelerate launch` itself.
"""

import importlib
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.launching.prepared"])
ROOT = Path(__file__).parents[2]
NOWHERE = Path(os.devnull), Path(os.devnull)
LIMIT_S = 300


@contextmanager
def launched(arguments: list, environment: dict) -> Iterator[ForkServerProcess]:
    """A process of `python -m vizkit <arguments>`, which is killed in the end, if it has not ended by then."""
    with _started(_command, arguments, environment, NOWHERE) as process:
        yield process


def at_work(what: Callable[[list[str]], int], arguments: list, printed: tuple[Path, Path] = NOWHERE) -> Any:
    """A process of a function that a module has, killed in the end."""
    return _started(what, arguments, {**os.environ, "OMP_NUM_THREADS": "1"}, printed)


def run_code(code: str, folder: Path, environment: dict | None = None) -> subprocess.CompletedProcess:
    """`python -c code` in a folder whose modules come first: vizkit is imported anew, torch and timm are there."""
    with tempfile.TemporaryDirectory() as home:
        printed = Path(home, "out"), Path(home, "err")
        with _started(_code, [code], dict(os.environ) | (environment or {}), printed, folder) as process:
            process.join(LIMIT_S)
            return _completed(process, printed)


@contextmanager
def _started(
    what: Callable[[list[str]], int],
    arguments: list,
    environment: dict,
    printed: tuple[Path, Path],
    folder: Path = ROOT,
) -> Iterator[ForkServerProcess]:
    given = what, [str(argument) for argument in arguments], environment, printed, folder
    process = _CONTEXT.Process(target=_run, args=given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # else it runs app.py, where a page was tested
        process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _run(
    what: Callable[[list[str]], int], arguments: list[str], environment: dict, printed: tuple[Path, Path], folder: Path
) -> None:
    """In the new process, before anything else runs there."""
    for descriptor, file in zip((1, 2), printed, strict=True):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    os.chdir(folder)
    multiprocessing.set_start_method(None, force=True)  # as in a process that the fork server has not made
    os.environ.clear()
    os.environ.update(environment)
    sys.exit(what(arguments))


def _command(arguments: list[str]) -> int:
    return importlib.import_module("vizkit.__main__").main(arguments)


def _code(arguments: list[str]) -> int:
    for name in [name for name in sys.modules if name.partition(".")[0] == "vizkit"]:
        del sys.modules[name]
    sys.path.insert(0, os.getcwd())
    exec(arguments[0], {"__name__": "__main__"})
    return 0


def _completed(process: ForkServerProcess, printed: tuple[Path, Path]) -> subprocess.CompletedProcess:
    out, errors = (file.read_text(encoding="utf-8") for file in printed)
    return subprocess.CompletedProcess([], process.exitcode, _without_gloo(out), errors)


def on_two_nodes(arguments: list, environment: dict) -> list[subprocess.CompletedProcess]:
    """Two processes of `-m vizkit <arguments>` that meet at a free port, in the environment that the launcher makes."""
    met = {
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": _free_port(),
    }
    with tempfile.TemporaryDirectory() as home, ExitStack() as running:
        files = [(Path(home, f"{rank}.out"), Path(home, f"{rank}.err")) for rank in (0, 1)]
        nodes = [
            running.enter_context(_started(_command, arguments, {**environment, **met, "RANK": str(rank)}, files[rank]))
            for rank in (0, 1)
        ]
        for node in nodes:
            node.join(LIMIT_S)  # one that waits for the other would do so for half an hour
        return [_completed(node, printed) for node, printed in zip(nodes, files, strict=True)]


def launched_on_two_nodes(arguments: list, environment: dict) -> list[subprocess.CompletedProcess]:
    """The same as two calls of `accelerate launch`, which takes twice as long."""
    meeting = ["--multi_gpu", "--num_machines", "2", "--num_processes", "2", "--main_process_ip", "127.0.0.1"]
    meeting += ["--main_process_port", _free_port(), "--machine_rank"]
    nodes = [
        subprocess.Popen(
            [sys.executable, "-m", "accelerate.commands.launch", *meeting, rank, "-m", "vizkit", *map(str, arguments)],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        for rank in ("0", "1")
    ]
    try:
        printed = [node.communicate(timeout=LIMIT_S) for node in nodes]
    finally:
        for node in nodes:
            if node.poll() is None:
                os.killpg(node.pid, signal.SIGKILL)
    return [
        subprocess.CompletedProcess(node.args, node.returncode, *texts)
        for node, texts in zip(nodes, printed, strict=True)
    ]


def _free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def _without_gloo(text: str) -> str:
    """torch 2.9 prints there that its processes have met."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("[Gloo]"))
