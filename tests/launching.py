"""Start the command line on two "nodes" of one process each, as `accelerate launch` does on two machines."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from vizkit.__main__ import main


def on_two_nodes(arguments: list, environment: dict, launcher: bool = False) -> list[subprocess.CompletedProcess]:
    """Two processes of `-m vizkit <arguments>` on this machine that meet at a free port. With the launcher both nodes
    of `accelerate launch`; without it the environment that it makes, in half the time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    meeting = ["--multi_gpu", "--num_machines", "2", "--num_processes", "2", "--main_process_ip", "127.0.0.1"]
    meeting += ["--main_process_port", port, "--machine_rank"]
    met = {
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": port,
    }
    nodes = [
        subprocess.Popen([sys.executable, *(["-m", "accelerate.commands.launch", *meeting, rank] if launcher else []),
                          "-m", "vizkit", *map(str, arguments)],
                         env=environment if launcher else {**environment, **met, "RANK": rank}, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        for rank in ("0", "1")
    ]  # fmt: skip
    try:
        said = [node.communicate(timeout=300) for node in nodes]
    finally:
        for node in nodes:
            if node.poll() is None:  # one that waits for the other would do so for half an hour
                os.killpg(node.pid, signal.SIGKILL)
    # torch 2.9 prints there that its processes have met.
    words = ["".join(line for line in out.splitlines(True) if not line.startswith("[Gloo]")) for out, _ in said]
    return [
        subprocess.CompletedProcess(node.args, node.returncode, out, errors)
        for node, out, (_, errors) in zip(nodes, words, said, strict=True)
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
