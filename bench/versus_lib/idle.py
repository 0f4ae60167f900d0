"""Thousands of idle clients, and what a server's memory grows by while it holds them."""

import select
import socket
import time
from dataclasses import dataclass, field

from .measure import SETTLE_SECONDS, TLS

WARM_UP_CONNECTIONS = 64
CONNECTIONS_PER_SOURCE_ADDRESS = 5000  # far from the ephemeral ports of one address


@dataclass
class IdleRun:
    """Memory of a fresh server before and while it holds connections that have asked once."""

    connections: int = 0
    before: dict = field(default_factory=dict)
    after: dict = field(default_factory=dict)
    closed_by_server: int = 0
    failed: str = ""

    @property
    def rss_bytes_per_connection(self):
        return (self.after["rss"] - self.before["rss"]) / self.connections

    @property
    def anonymous_bytes_per_connection(self):
        return (self.after["anonymous"] - self.before["anonymous"]) / self.connections

    @property
    def had_errors(self):
        return self.closed_by_server > 0


def open_idle_client(port, number, tls):
    """A connection that has had one answer. Its close is a reset: no TIME_WAIT is left behind."""
    client = socket.socket()
    try:
        client.settimeout(5)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        source = 2 + number // CONNECTIONS_PER_SOURCE_ADDRESS
        client.bind((f"127.0.0.{source}", 0))
        client.connect(("127.0.0.1", port))
        if tls:
            client = TLS.wrap_socket(client)
        client.sendall(f"GET /ok HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        response = b""
        while not response.endswith(b"\r\n\r\nOk"):
            block = client.recv(4096)
            if not block:
                raise ConnectionError("closed instead of answered")
            response += block
        return client
    except BaseException:
        client.close()
        raise


def count_closed(clients):
    """How many of these the server has closed or written to since."""
    poll = select.poll()
    for client in clients:
        poll.register(client, select.POLLIN | select.POLLRDHUP)
    return len(poll.poll(0))


def run_idle(server, connections, tls):
    run = IdleRun()
    clients = []
    try:
        for number in range(WARM_UP_CONNECTIONS):  # code and tables of the server come in first
            clients.append(open_idle_client(server.port, number, tls))
        while clients:
            clients.pop().close()
        time.sleep(SETTLE_SECONDS)
        run.before = server.memory_bytes()
        for number in range(connections):
            clients.append(open_idle_client(server.port, number, tls))
        time.sleep(2 * SETTLE_SECONDS)
        run.after = server.memory_bytes()
        run.connections = len(clients)
        run.closed_by_server = count_closed(clients)
    except OSError as problem:
        run.failed = f"connection {len(clients) + 1} of {connections}: {problem}"
    finally:
        for client in clients:
            client.close()
    if not server.alive():
        run.failed = "the server died during the run"
    return run
