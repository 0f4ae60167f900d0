"""A client that says exactly what it is told and reads exactly what comes."""

import select
import socket
import struct
import time

from support import answers

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def get(path, fields="", method="GET", version="1.1"):
    """The octets of a request without a body."""
    return f"{method} {path} HTTP/{version}\r\nHost: x\r\n{fields}\r\n".encode("latin-1")


def post(path, body=b"", fields=""):
    """The octets of a POST with its body."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
    return head.encode("latin-1") + body


class Client:
    """One connection. Deadlines are for the whole of a call, and missing one is a failure."""

    def __init__(self, address, receive_buffer=None, timeout_s=10.0, source=None):
        if isinstance(address, int):
            address = ("127.0.0.1", address)
        family = socket.AF_UNIX if isinstance(address, (str, bytes)) else socket.AF_INET
        if family == socket.AF_INET and ":" in address[0]:
            family = socket.AF_INET6
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source is not None:
            self.socket.bind((source, 0))
        self.socket.settimeout(timeout_s)
        self.socket.connect(address)
        if family != socket.AF_UNIX:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.poll = select.poll()  # select() knows no descriptors above 1023
        self.poll.register(self.socket, select.POLLIN)
        self.timeout_s = timeout_s
        self.pending = b""
        self.ended = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, octets):
        self.socket.sendall(octets)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def close(self):
        self.socket.close()

    def reset(self):
        """Ends the connection with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def receive(self, timeout_s):
        """Takes what comes next within the time: False when nothing came."""
        if self.ended or not self.poll.poll(max(0, timeout_s) * 1000):
            return False
        octets = self.socket.recv(1 << 18)
        self.ended = not octets
        self.pending += octets
        return True

    def answer(self, to_head=False, timeout_s=None):
        """The next final response, whole."""
        deadline = time.monotonic() + (timeout_s or self.timeout_s)
        while True:
            reader = answers.Reader(self.pending, self.ended)
            answer = reader.answer(to_head) if self.pending else answers.Answer()
            if answer.whole:
                self.pending = reader.left
                if answer.status >= 200:
                    return answer
                continue
            if self.ended:
                raise AssertionError(f"the connection ended: {self.pending[:2000]!r}")
            if not self.receive(deadline - time.monotonic()) and time.monotonic() >= deadline:
                raise AssertionError(f"no whole response in time: {self.pending[:2000]!r}")

    def ask(self, octets, to_head=False, timeout_s=None):
        """Sends a request and returns its response."""
        self.send(octets)
        return self.answer(to_head, timeout_s)

    def end_s(self, timeout_s=None):
        """How long until the server has ended the connection; no octet may come before that."""
        started = time.monotonic()
        deadline = started + (timeout_s or self.timeout_s)
        while not self.ended:
            if not self.receive(deadline - time.monotonic()) and time.monotonic() >= deadline:
                raise AssertionError("the connection is still open")
        assert self.pending == b"", f"octets that nobody asked for: {self.pending[:2000]!r}"
        return time.monotonic() - started

    def is_silent(self, seconds):
        """True when nothing comes for so long, not even the end."""
        return not self.receive(seconds)

    def rest(self, timeout_s=None):
        """Everything until the server ends the connection."""
        deadline = time.monotonic() + (timeout_s or self.timeout_s)
        while not self.ended:
            if not self.receive(deadline - time.monotonic()) and time.monotonic() >= deadline:
                raise AssertionError("the connection is still open")
        octets, self.pending = self.pending, b""
        return octets


def ask_once(address, octets=GET, **options):
    """One request on a connection of its own."""
    with Client(address, **options) as client:
        return client.ask(octets)


def is_open(port, host="127.0.0.1"):
    """True when somebody accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex((host, port)) == 0


def pour_in(client, seconds_silent, timeout_s):
    """Reads and counts until the end or so long a silence; returns (octets, ended)."""
    count, deadline = len(client.pending), time.monotonic() + timeout_s
    client.pending = b""
    while not client.ended and time.monotonic() < deadline:
        if not client.receive(seconds_silent):
            break
        count += len(client.pending)
        client.pending = b""
    return count, client.ended
