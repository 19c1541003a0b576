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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType

import pytest

from vizkit.__main__ import main

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.launching.prepared"])
LIMIT_S = 300


@contextmanager
def launched(arguments: list, environment: dict) -> Iterator[ForkServerProcess]:
    """A process of `python -m vizkit <arguments>`, which is killed in the end, if it has not ended by then."""
    with _started(arguments, environment, Path(os.devnull), Path(os.devnull)) as process:
        yield process


@contextmanager
def _started(arguments: list, environment: dict, out: Path, errors: Path) -> Iterator[ForkServerProcess]:
    given = [str(argument) for argument in arguments], environment, os.getcwd(), out, errors
    process = _CONTEXT.Process(target=_run, args=given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "__main__", ModuleType("__main__"))  # else it runs app.py, where a page was tested
        process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _run(arguments: list[str], environment: dict, folder: str, out: Path, errors: Path) -> None:
    """In the new process, before anything else runs there."""
    for descriptor, file in ((1, out), (2, errors)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
    os.chdir(folder)
    multiprocessing.set_start_method(None, force=True)  # as in a process that the fork server has not made
    os.environ.clear()
    os.environ.update(environment)
    sys.exit(importlib.import_module("vizkit.__main__").main(arguments))


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
            running.enter_context(_started(arguments, {**environment, **met, "RANK": str(rank)}, *files[rank]))
            for rank in (0, 1)
        ]
        for node in nodes:
            node.join(LIMIT_S)  # one that waits for the other would do so for half an hour
        return [
            subprocess.CompletedProcess(arguments, node.exitcode, _without_gloo(out.read_text()), errors.read_text())
            for node, (out, errors) in zip(nodes, files, strict=True)
        ]


def launched_on_two_nodes(arguments: list, environment: dict) -> list[subprocess.CompletedProcess]:
    """The same as two calls of `accelerate launch`, which takes twice as long."""
    meeting = ["--multi_gpu", "--num_machines", "2", "--num_processes", "2", "--main_process_ip", "127.0.0.1"]
    meeting += ["--main_process_port", _free_port(), "--machine_rank"]
    nodes = [
        subprocess.Popen([sys.executable, "-m", "accelerate.commands.launch", *meeting, rank, "-m", "vizkit",
                          *map(str, arguments)], env=environment, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, start_new_session=True)
        for rank in ("0", "1")
    ]  # fmt: skip
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


def same_on_two_nodes(arguments: list[str], one: Path, two: Path) -> str:
    """The first node writes to `two` what one process writes to `one`; gives what it prints. The second is silent."""
    assert main([*arguments, "-o", str(one)]) == 0
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    first, second = on_two_nodes([*arguments, "-o", two], environment)
    assert first.returncode == 0, first.stderr
    assert second.returncode == 0, second.stderr
    assert two.read_text() == one.read_text()
    assert not second.stdout
    return first.stdout


def _free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def _without_gloo(text: str) -> str:
    """torch 2.9 prints there that its processes have met."""
    return "".join(line for line in text.splitlines(True) if not line.startswith("[Gloo]"))
