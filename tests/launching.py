"""Start the command line on two "nodes" of one process each, as `accelerate launch` does on two machines."""

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
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for rank in ("0", "1")
    ]  # fmt: skip
    said = [node.communicate(timeout=300) for node in nodes]
    return [subprocess.CompletedProcess(node.args, node.returncode, *text) for node, text in zip(nodes, said)]  # noqa: B905
