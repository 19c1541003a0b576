"""Start the command line on two "nodes" of one process each, as `accelerate launch` does on two machines."""

import os
import signal
import socket
import subprocess
import sys


def on_two_nodes(arguments: list, environment: dict) -> list[subprocess.CompletedProcess]:
    """Both nodes of `accelerate launch … -m vizkit <arguments>`, on this machine; they meet at a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    meeting = ["--multi_gpu", "--num_machines", "2", "--num_processes", "2", "--main_process_ip", "127.0.0.1"]
    meeting += ["--main_process_port", str(port), "--machine_rank"]
    launch = [sys.executable, "-m", "accelerate.commands.launch", *meeting]
    nodes = [
        subprocess.Popen([*launch, rank, "-m", "vizkit", *map(str, arguments)], env=environment, text=True,
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
