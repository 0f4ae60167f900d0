"""One request in either protocol, and its response in one form: status, fields, body, trailers."""

from support import h2_frames as h2
from support.client import Client
from support.h2_client import H2Client

PROTOCOLS = ("http1", "http2")
FRAME_MAX = 16384


def octets_of(method, path, fields, body):
    head = "".join(f"{name}: {value}\r\n" for name, value in fields)
    if body is not None:
        head += f"Content-Length: {len(body)}\r\n"
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{head}\r\n".encode("latin-1") + (body or b"")


def frames_of(stream, method, path, fields, body):
    fields = [(name.lower(), value) for name, value in fields]
    if body is not None:
        fields.append(("content-length", str(len(body))))
    head = h2.headers(stream, h2.block(h2.request(path, method, fields=fields)), end=not body)
    pieces = [body[at:at + FRAME_MAX] for at in range(0, len(body or b""), FRAME_MAX)]
    return head + b"".join(h2.data(stream, piece, end=piece is pieces[-1]) for piece in pieces)


class Asker:
    """A connection that is kept: requests one after the other."""

    def __init__(self, port, protocol, **options):
        self.protocol = protocol
        self.client = (Client if protocol == "http1" else H2Client)(port, **options)
        self.stream = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def ask(self, path, fields=(), method="GET", body=None):
        if self.protocol == "http1":
            return self.client.ask(octets_of(method, path, fields, body), method == "HEAD")
        self.stream += 2
        if method == "HEAD":
            self.client.reader.heads.add(self.stream)
        return self.client.ask(frames_of(self.stream, method, path, fields, body), self.stream)


def ask(port, protocol, path, fields=(), method="GET", body=None):
    """One request on a connection of its own."""
    with Asker(port, protocol) as asker:
        return asker.ask(path, fields, method, body)
