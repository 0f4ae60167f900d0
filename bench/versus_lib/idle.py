"""Thousands of idle clients, and what a server's memory grows by while it holds them."""

import select
import socket
import time
from dataclasses import dataclass, field

from .measure import H2_PREFACE, SETTLE_SECONDS, TLS, TLS_OF_H2

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


# GET /ok on stream 1: the static table's :method and :scheme, a literal :path and :authority.
H2_REQUEST = (H2_PREFACE + b"\0\0\x11\x01\x05\0\0\0\x01" + b"\x82" + b"\x86" +
              b"\x04\x03/ok" + b"\x01\x08test:800")
H2_ACKNOWLEDGEMENT = b"\0\0\0\x04\x01\0\0\0\0"


def open_idle_client(port, number, tls, http2):
    """A connection that has had one answer. Its close is a reset: no TIME_WAIT is left behind."""
    client = socket.socket()
    try:
        client.settimeout(5)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        source = 2 + number // CONNECTIONS_PER_SOURCE_ADDRESS
        client.bind((f"127.0.0.{source}", 0))
        client.connect(("127.0.0.1", port))
        if tls:
            client = (TLS_OF_H2 if http2 else TLS).wrap_socket(client)
        request = f"GET /ok HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        client.sendall(H2_REQUEST if http2 else request)
        response = b""
        while not response.endswith(b"Ok" if http2 else b"\r\n\r\nOk"):
            block = client.recv(4096)
            if not block:
                raise ConnectionError("closed instead of answered")
            response += block
        if http2:
            client.sendall(H2_ACKNOWLEDGEMENT)
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


def run_idle(server, connections, tls, http2):
    run = IdleRun()
    clients = []
    try:
        for number in range(WARM_UP_CONNECTIONS):  # code and tables of the server come in first
            clients.append(open_idle_client(server.port, number, tls, http2))
        while clients:
            clients.pop().close()
        time.sleep(SETTLE_SECONDS)
        run.before = server.memory_bytes()
        for number in range(connections):
            clients.append(open_idle_client(server.port, number, tls, http2))
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
