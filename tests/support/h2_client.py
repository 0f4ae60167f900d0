"""An HTTP/2 client that says exactly what it is told, frame by frame, and reads strictly."""

import ssl
import time

from support import h2_frames as h2
from support.client import Client
from support.h2_answers import Reader


def tls_context(protocols=("h2",)):
    """A client's, that trusts everybody."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class H2Client(Client):
    """One connection, in the clear (prior knowledge) or over TLS (ALPN).

    With `start` it sends the preface and SETTINGS; those of the server are acknowledged by
    `acknowledge`, or by what waits. Deadlines are for the whole of a call.
    """

    def __init__(self, address, tls=False, settings=None, start=True, **options):
        super().__init__(address, **options)
        if tls:
            self.socket = tls_context().wrap_socket(self.socket)
            assert self.socket.selected_alpn_protocol() == "h2"
        self.reader = Reader()
        self.was_reset = False
        self.acknowledged = False
        if start:
            self.send(h2.PREFACE)
            self.send_settings(settings)

    # ---- sending

    def send_settings(self, values=None):
        self.reader.sent_settings(list((values or {}).items()))
        self.send(h2.settings(values))

    def open_window(self, stream, increment):
        self.reader.sent_window_update(stream, increment)
        self.send(h2.window_update(stream, increment))

    def acknowledge(self):
        """Acknowledges the server's SETTINGS, once, when they are here."""
        if self.reader.settings is not None and not self.acknowledged:
            self.acknowledged = True
            self.send(h2.settings(ack=True))

    # ---- receiving

    def receive(self, timeout_s):
        """Takes what comes next within the time: False when nothing came."""
        waiting = getattr(self.socket, "pending", lambda: 0)()
        if self.ended or not (waiting or self.poll.poll(max(0, timeout_s) * 1000)):
            return False
        try:
            octets = self.socket.recv(1 << 18)
        except ssl.SSLWantReadError:
            return False
        except (ConnectionResetError, BrokenPipeError):
            octets, self.was_reset = b"", True
        except ssl.SSLEOFError:
            octets = b""
        self.ended = not octets
        self.reader.feed(octets)
        return True

    def wait_for(self, condition, what="what was waited for", timeout_s=None):
        """Reads until the condition holds; returns its value."""
        deadline = time.monotonic() + (timeout_s or self.timeout_s)
        while True:
            value = condition(self.reader)
            if value:
                return value
            assert not self.ended, f"{what}: the connection ended; {self.story()}"
            if not self.receive(deadline - time.monotonic()):
                assert time.monotonic() < deadline, f"{what}: not in time; {self.story()}"
            self.acknowledge()

    def wait_over(self, *streams, timeout_s=None):
        """Reads until these streams have ended or been reset; returns the last one."""
        for number in streams:
            self.wait_for(lambda reader, number=number: reader.stream(number).over,
                          f"the end of stream {number}", timeout_s)
        return self.reader.streams[streams[-1]]

    def ask(self, octets, stream=1, timeout_s=None):
        """Sends a request and returns its response."""
        self.send(octets)
        return self.wait_over(stream, timeout_s=timeout_s)

    def ping(self, octets=b"barrier!", timeout_s=None):
        """A barrier: everything that was sent before has been read by the server."""
        count = len(self.reader.pongs)
        self.send(h2.ping(octets))
        self.wait_for(lambda reader: len(reader.pongs) > count, "the answer to a PING", timeout_s)

    def wait_end(self, timeout_s=None):
        """Reads until the server ends the connection; returns the code of its last GOAWAY."""
        deadline = time.monotonic() + (timeout_s or self.timeout_s)
        while not self.ended:
            if not self.receive(deadline - time.monotonic()) and time.monotonic() >= deadline:
                raise AssertionError(f"the connection is still open; {self.story()}")
        return self.reader.goaways[-1][1] if self.reader.goaways else None

    def fate(self):
        """"open", the code of a GOAWAY behind which the connection was closed ("going(CODE)" while
        it was not yet), "closed" without one, "reset", or "http1": an answer of HTTP/1.1 and closed."""
        if self.was_reset:
            return "reset"
        if self.reader.speaks_http1 and self.ended:
            return "http1"
        if self.reader.goaways:
            code = self.reader.goaways[-1][1]
            return code if self.ended else f"going({code})"
        return "closed" if self.ended else "open"

    def story(self):
        """What came, for messages."""
        frames = [str(frame) for frame in self.reader.frames[-40:]]
        return f"{self.reader.summary(self.fate())}: {', '.join(frames) or 'nothing'}"


def ask_once(address, octets=None, tls=False, **options):
    """One request on a connection of its own."""
    with H2Client(address, tls, **options) as client:
        return client.ask(octets or h2.get(1))
