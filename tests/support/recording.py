"""A server that remembers what it was sent: the other side of every test of a client.

It answers each request with what `answer` makes of it, and keeps connections as HTTP wants it. All that
came is in `connections`, each with its peer, the time it was accepted, and its requests.
"""

import dataclasses
import re
import socket
import threading
import time

BUSY_BACKLOG = 1024
LENGTH = re.compile(rb"^content-length: *(\d+) *\r?$", re.IGNORECASE | re.MULTILINE)


@dataclasses.dataclass
class Request:
    method: str
    target: str
    version: str
    fields: list  # of (name, value), in their order
    body: bytes
    at_s: float

    def values(self, name):
        return [value for other, value in self.fields if other.lower() == name.lower()]

    def value(self, name):
        """The one value of a field that is there once."""
        (value,) = self.values(name)
        return value

    @property
    def keeps(self):
        options = ",".join(self.values("Connection")).lower()
        return "close" not in options if self.version == "HTTP/1.1" else "keep-alive" in options


@dataclasses.dataclass
class Connection:
    peer: object
    at_s: float
    requests: list = dataclasses.field(default_factory=list)


def ok(request):
    return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + \
        (b"Connection: keep-alive\r\n" if request.version == "HTTP/1.0" else b"") + \
        (b"\r\n" if request.method == "HEAD" else b"\r\nOk")


class Recorder:
    """Listens at once. `gather` requests of a connection are awaited before any is answered."""

    def __init__(self, address=("127.0.0.1", 0), family=socket.AF_INET, answer=ok, delay_s=0,
                 gather=1):
        self.answer, self.delay_s, self.gather = answer, delay_s, gather
        self.connections = []
        self.lock = threading.Lock()
        self.ending = False
        self.listener = socket.socket(family)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(address)
        self.listener.listen(BUSY_BACKLOG)
        self.address = self.listener.getsockname()
        self.open = set()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ending = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(5)
        self.listener.close()
        with self.lock:
            for client in self.open:
                client.shutdown(socket.SHUT_RDWR)

    @property
    def port(self):
        return self.address[1]

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    @property
    def requests(self):
        """All requests, by the time they came."""
        with self.lock:
            return sorted((request for connection in self.connections
                           for request in connection.requests), key=lambda request: request.at_s)

    def _accept(self):
        while True:
            try:
                client, peer = self.listener.accept()
            except OSError:
                return
            connection = Connection(peer, time.monotonic())
            with self.lock:
                self.connections.append(connection)
                self.open.add(client)
            threading.Thread(target=self._serve, args=(client, connection), daemon=True).start()

    def _serve(self, client, connection):
        try:
            self._talk(client, connection)
        except OSError:
            pass
        with self.lock:
            self.open.discard(client)
        client.close()

    def _talk(self, client, connection):
        received, waiting = b"", []
        while True:
            request, received = self._next(received)
            if request is None:
                piece = client.recv(65536)
                if not piece:
                    return
                received += piece
                continue
            with self.lock:
                connection.requests.append(request)
            waiting.append(request)
            if len(waiting) < self.gather:
                continue
            time.sleep(self.delay_s)
            client.sendall(b"".join(self.answer(each) for each in waiting))
            if not all(each.keeps for each in waiting):
                return
            waiting.clear()

    @staticmethod
    def _next(received):
        """The first whole request, and what is behind it."""
        head, mark, rest = received.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        length = int(length.group(1)) if length else 0
        if not mark or len(rest) < length:
            return None, received
        line, *lines = head.decode("latin-1").split("\r\n")
        method, target, version = line.split(" ")
        fields = []
        for each in lines:
            name, _, value = each.partition(":")
            fields.append((name, value.strip()))
        return Request(method, target, version, fields, rest[:length], time.monotonic()), \
            rest[length:]


def unused_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
