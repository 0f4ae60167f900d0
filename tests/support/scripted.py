"""A server that does to its clients exactly what a test says, and counts what it saw.

A script is a function that is given each Conversation, one connection with one client, and runs in
a thread of its own: it reads requests, and sends, waits, ends or resets as it likes. A connection
whose script returns is closed. That a client leaves in the middle is no failure of a script;
anything else that it raises fails the test.
"""

import contextlib
import socket
import struct
import threading
import time

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: an RST in place of a FIN
HEADS_KEPT = 1000
RETRY_S = 0.005  # between two calls of accept() that fail
JOIN_TIMEOUT_S = 15


def answer(body=b"Ok", fields="", status="200 OK", version="1.1"):
    """The octets of a response with a length."""
    head = f"HTTP/{version} {status}\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
    return head.encode("latin-1") + body


def head(fields="", status="200 OK", version="1.1"):
    """The octets of a head without a length."""
    return f"HTTP/{version} {status}\r\n{fields}\r\n".encode("latin-1")


class Gone(Exception):
    """The client has ended the connection, or the test is over."""


class Request:
    """A request as it came. `number` counts all requests of the server, from 1 on; `at_s` is when
    its head was there."""

    def __init__(self, octets, number):
        self.at_s = time.monotonic()
        self.head = octets.decode("latin-1")
        self.number = number
        self.method, self.target, self.version = self.head.split("\r\n", 1)[0].split(" ", 2)
        self.body = b""

    @property
    def fields(self):
        """(name, value) of each, in their order."""
        return [(name, value.strip(" \t")) for name, _, value in
                (line.partition(":") for line in self.head.split("\r\n")[1:-2])]

    def values(self, name):
        """The values of all fields of that name."""
        return [value for other, value in self.fields if other.lower() == name.lower()]

    def value(self, name):
        """The one value of a field that is there once."""
        (value,) = self.values(name)
        return value

    @property
    def length(self):
        return int((self.values("Content-Length") or ["0"])[0])

    @property
    def keeps(self):
        """Is the connection to be kept behind the answer (RFC 9112 section 9.3)?"""
        options = ",".join(self.values("Connection")).lower()
        return "close" not in options if self.version == "HTTP/1.1" else "keep-alive" in options


class Conversation:
    """One connection. `number` counts the connections of the server, from 1 on; `peer` is the
    client's address, `at_s` when it was accepted."""

    def __init__(self, server, accepted, peer, number):
        self.at_s = time.monotonic()
        self.server = server
        self.socket = accepted
        self.peer = peer
        self.number = number
        self.pending = b""
        self.closed = threading.Lock()  # held: the socket is closed

    # ---- reading ----

    def _receive(self):
        octets = self.socket.recv(1 << 16)
        self.server.count(octets=len(octets))
        self.pending += octets
        return len(octets) > 0

    def request(self, body=True):
        """The next request, with its body unless that is left unread; None when the client has
        ended between two requests."""
        while b"\r\n\r\n" not in self.pending:
            if not self._receive():
                if self.pending:
                    raise Gone
                return None
        octets, self.pending = self.pending.split(b"\r\n\r\n", 1)
        request = self.server.new_request(octets + b"\r\n\r\n")
        while body and len(self.pending) < request.length:
            if not self._receive():
                raise Gone
        if body:
            request.body = self.pending[:request.length]
            self.pending = self.pending[request.length:]
        return request

    def requests(self):
        """All that come on this connection."""
        while (request := self.request()) is not None:
            yield request

    def skip(self, count):
        """Reads so many octets, and drops them."""
        while len(self.pending) < count:
            count -= len(self.pending)
            self.pending = b""
            if not self._receive():
                raise Gone
        self.pending = self.pending[count:]

    def hold(self):
        """Waits until the client has ended the connection; what it sends is dropped."""
        self.pending = b""
        with contextlib.suppress(ConnectionError):
            while self._receive():
                self.pending = b""
        raise Gone

    def wait(self, seconds):
        """A pause, which ends with the test."""
        if self.server.over.wait(seconds):
            raise Gone

    # ---- writing and ending ----

    def send(self, *pieces):
        for octets in pieces:
            self.socket.sendall(octets)

    def send_zeros(self, count):
        """Many octets, as far as the client takes them."""
        block = bytes(1 << 20)
        while count > 0:
            self.socket.sendall(block[:min(count, len(block))])
            count -= len(block)

    def fin(self):
        """Ends the sending side, and waits for the client to end its own."""
        with contextlib.suppress(OSError):  # ENOTCONN: a reset was faster
            self.socket.shutdown(socket.SHUT_WR)
        self.hold()

    def reset(self):
        """RST, now, behind what was sent before."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.close()

    def close(self):
        """Closes, as a server does that is careless of what it has not read."""
        if self.closed.acquire(blocking=False):
            self.socket.close()

    def interrupt(self):
        """Wakes the script at the end of a test."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


def answering(octets, before_answer=lambda: None):
    """A script that gives this answer to everything, on connections that are kept."""
    def script(conversation):
        for _ in conversation.requests():
            before_answer()
            conversation.send(octets)

    return script


def family_of(address):
    if isinstance(address, str):
        return socket.AF_UNIX
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET


class Scripted:
    """The server. It listens from the beginning until its `with` block ends."""

    def __init__(self, script, address=("127.0.0.1", 0), backlog=512, accepts=True):
        """`address` is a host and a port, or the path of a unix socket."""
        self.script = script
        self.backlog = backlog
        self.family = family_of(address)
        self.address = address
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.connections = 0
        self.requests = 0
        self.octets = 0  # received
        self.heads = []  # of the first requests
        self.failures = []
        self.open_now = set()
        self.threads = []
        self.listener = None
        self.accepts = accepts
        self.listen()

    # ---- what is counted ----

    def count(self, octets):
        with self.lock:
            self.octets += octets

    def new_request(self, octets):
        with self.lock:
            self.requests += 1
            number = self.requests
        request = Request(octets, number)
        if number <= HEADS_KEPT:
            self.heads.append(request)
        return request

    # ---- the listener ----

    @property
    def port(self):
        return self.address[1]

    def url(self, path="/"):
        host = f"[{self.address[0]}]" if self.family == socket.AF_INET6 else self.address[0]
        return f"http://{host}:{self.port}{path}"

    def listen(self):
        """Listens, again at the same address if it has before."""
        listener = socket.socket(self.family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(self.address)
        listener.listen(self.backlog)
        if self.family != socket.AF_UNIX:
            self.address = listener.getsockname()[:2]
        self.listener = listener
        if self.accepts:
            self.accept()

    def accept(self):
        """Accepts from now on; for a server that did not from the beginning."""
        self._start(self._accept_all, self.listener)

    def stop_listening(self):
        """From now on connections are refused."""
        listener, self.listener = self.listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
            listener.close()

    def go_away(self):
        """Refuses connections, and ends those there are: as if its process were killed."""
        self.stop_listening()
        with self.lock:
            conversations = list(self.open_now)
        for conversation in conversations:
            conversation.interrupt()

    # ---- threads ----

    def _start(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        with self.lock:
            self.threads.append(thread)
        thread.start()

    def _accept_all(self, listener):
        while True:
            try:
                accepted, peer = listener.accept()
            except OSError:
                if self.listener is not listener:
                    return  # stop_listening
                time.sleep(RETRY_S)  # EMFILE
                continue
            if self.family != socket.AF_UNIX:
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.connections += 1
                conversation = Conversation(self, accepted, peer, self.connections)
                self.open_now.add(conversation)
            self._start(self._converse, conversation)

    def _converse(self, conversation):
        try:
            self.script(conversation)
        except (Gone, ConnectionError):
            pass
        except OSError as failure:
            if not conversation.closed.locked() and not self.over.is_set():
                self.failures.append(failure)
        except Exception as failure:  # pylint: disable=broad-except
            self.failures.append(failure)
        finally:
            with self.lock:
                self.open_now.discard(conversation)
            conversation.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.over.set()
        self.stop_listening()
        with self.lock:
            conversations, threads = list(self.open_now), list(self.threads)
        for conversation in conversations:
            conversation.interrupt()
        deadline = time.monotonic() + JOIN_TIMEOUT_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        if kind is None:
            assert not self.failures, self.failures
            assert not any(thread.is_alive() for thread in threads), "a script does not end"


@contextlib.contextmanager
def refusing():
    """A port that belongs to the test, where nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]
