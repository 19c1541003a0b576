"""A small balancer for tests: each new visitor goes to the next server and stays there, by a cookie."""

import itertools
import re
import socket
import socketserver
import threading
from contextlib import contextmanager, suppress

COOKIE = "replica"


def head_of(connection):
    """What comes until the first empty line, and what has come with it; empty when the other side has left."""
    head = b""
    while b"\r\n\r\n" not in head:
        data = connection.recv(65_536)
        if not data:
            return b""
        head += data
    return head


def pass_on(source, target):
    with suppress(OSError):  # the other direction has closed both
        while data := source.recv(65_536):
            target.sendall(data)
    for each in (source, target):
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def balancing(ports):
    """Its address, and how many visitors each server has been given."""
    visitors, turn = [0] * len(ports), itertools.cycle(range(len(ports)))

    class Connection(socketserver.BaseRequestHandler):
        """It belongs to one browser, hence to one server; all that follows the first head is passed on as it is."""

        def handle(self):
            head = head_of(self.request)
            if not head:
                return
            known = re.search(rb"\b" + COOKIE.encode() + rb"=(\d+)", head)
            number = int(known[1]) if known else next(turn)
            with socket.create_connection(("127.0.0.1", ports[number])) as server:
                server.sendall(head)
                if not known:
                    visitors[number] += 1
                    status, _, rest = head_of(server).partition(b"\r\n")
                    cookie = f"Set-Cookie: {COOKIE}={number}; Path=/".encode()
                    self.request.sendall(b"\r\n".join((status, cookie, rest)))
                back = threading.Thread(target=pass_on, args=(server, self.request))
                back.start()
                pass_on(self.request, server)
                back.join()

    class Balancer(socketserver.ThreadingTCPServer):
        daemon_threads = True
        request_queue_size = 64

    with Balancer(("127.0.0.1", 0), Connection) as balancer:
        thread = threading.Thread(target=balancer.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{balancer.server_address[1]}", visitors
        finally:
            balancer.shutdown()
            thread.join()
