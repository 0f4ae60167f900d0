"""Malformed forms, cookies, ranges, boundaries and paths, of all kinds, on two workers, while neighbours
go on: each has its status, each that the standard lets a server refuse or leave out is named in the log
with its client, and nobody else loses a request, an octet or a session.
"""

import threading

import pytest

from support.asking import PROTOCOLS, Asker, frames_of, octets_of
from support.client import Client
from support.h2_client import H2Client

ROUNDS = 4
HUNDRED = b"0123456789" * 10
URLENCODED = [("Content-Type", "application/x-www-form-urlencoded")]
MULTIPART = [("Content-Type", "multipart/form-data; boundary=sep")]
PART = b'--sep\r\nContent-Disposition: form-data; name="a"\r\n\r\n'


def boundary(text):
    return [("Content-Type", f"multipart/form-data; boundary={text}")]


# (method, path, fields, body, status, what the log says the server was doing)
FORM, PATH = "while reading a form", "while routing a request"
COOKIE, RANGE = "while reading cookies", "while reading a Range field"
BAD = [
    ("POST", "/form", URLENCODED, b"a=%", 400, FORM),
    ("POST", "/form", URLENCODED, b"a=%zz&b=1", 400, FORM),
    ("POST", "/form", URLENCODED, b"%=", 400, FORM),
    ("POST", "/form", URLENCODED, b"&a=1" * 1001, 413, FORM),
    ("POST", "/form", MULTIPART, b"no boundary", 400, FORM),
    ("POST", "/form", MULTIPART, PART + b"cut short", 400, FORM),
    ("POST", "/form", MULTIPART, b"--sep\r\nno field\r\n\r\n1\r\n--sep--", 400, FORM),
    ("POST", "/form", boundary(""), b"--sep--", 400, FORM),
    ("POST", "/parts", boundary('""'), b"----", 400, FORM),
    ("POST", "/parts", boundary('"open'), b"--open--", 400, FORM),
    ("POST", "/parts", boundary("b" * 71), b"--", 400, FORM),
    ("POST", "/parts", boundary("a=b;c"), b"--a--", 400, FORM),
    ("POST", "/parts", [("Content-Type", "multipart/form-data")], b"--sep--", 400, FORM),
    ("POST", "/parts", MULTIPART, b"--other\r\n\r\n\r\n--other--", 400, FORM),
    ("POST", "/parts", MULTIPART, PART + b"1\r\n--sep", 400, FORM),
    ("POST", "/parts", MULTIPART, (PART + b"1\r\n") * 9 + b"--sep--", 413, FORM),
    ("POST", "/parts", MULTIPART, b"--sep\r\nX: " + b"y" * 5000 + b"\r\n\r\n\r\n--sep--", 413, FORM),
    ("GET", "/cookies", [("Cookie", "odd")], None, 200, COOKIE),
    ("GET", "/cookies", [("Cookie", "=1; a=2")], None, 200, COOKIE),
    ("GET", "/session/count", [("Cookie", "sid; a; ;;=")], None, 200, COOKIE),
    ("GET", "/hundred.txt", [("Range", "bytes=9-1")], None, 200, RANGE),
    ("GET", "/hundred.txt", [("Range", "bytes=x-y")], None, 200, RANGE),
    ("GET", "/hundred.txt", [("Range", "bytes=" + "0-," * 500)], None, 200, RANGE),
    ("GET", "/hundred.txt", [("Range", "bytes=--1")], None, 200, RANGE),
    ("GET", "/%", [], None, 400, PATH),
    ("GET", "/%zz", [], None, 400, PATH),
    ("GET", "/index.html%00.txt", [], None, 400, PATH),
    ("GET", "/../../etc/passwd", [], None, 400, PATH),
    ("GET", "/%2e%2e/pub-secret/s.txt", [], None, 400, PATH),
    ("GET", "/..%2fsecret.txt", [], None, 400, PATH),
    ("GET", "/%c0%ae%c0%ae/secret.txt", [], None, 404, None),
    ("GET", "/hundred.txt/", [], None, 404, None),
    ("GET", "/hundred.txt", [("Range", "bytes=100-")], None, 416, RANGE),
]


class Neighbour(threading.Thread):
    """Somebody who does everything right, on one connection, until told to stop: every answer must be
    the right one, and the session must have counted each visit."""

    def __init__(self, port, protocol):
        super().__init__()
        self.port, self.protocol = port, protocol
        self.over = threading.Event()
        self.rounds = 0
        self.failure = None

    def run(self):
        try:
            with Asker(self.port, self.protocol) as asker:
                self.go_on(asker)
        except (AssertionError, OSError) as failure:
            self.failure = failure

    def go_on(self, asker):
        cookie = asker.ask("/session/count").fields.get("Set-Cookie").split(";")[0]
        file = PART.replace(b'"a"', b'"b"; filename="f"')
        body = PART + b"one\r\n" + file + HUNDRED + b"\r\n--sep--\r\n"
        while not self.over.is_set():
            self.rounds += 1
            visits = asker.ask("/session/count", [("Cookie", f"x=1; {cookie}")])
            assert visits.body == b"%d" % (self.rounds + 1)
            assert asker.ask("/form?q=1", URLENCODED, "POST", b"a=x+y").body == b"q=1\na=x y\n"
            assert asker.ask("/parts", MULTIPART, "POST", body).body == b"a: , 3\nb: f, 100\n"
            assert asker.ask("/hundred.txt", [("Range", "bytes=10-19")]).body == HUNDRED[:10]
            assert asker.ask("/sub/x.txt").body == b"deep"


def send_bad(port, protocol, bad):
    """Sends it on a connection of its own: (status, what the server calls this client)."""
    method, path, fields, body = bad[:4]
    with (Client if protocol == "http1" else H2Client)(port) as client:
        name = "127.0.0.1:%d" % client.socket.getsockname()[1]
        if protocol == "http1":
            return client.ask(octets_of(method, path, fields, body)).status, name
        return client.ask(frames_of(1, method, path, fields, body)).status, name


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_bad_input_has_its_status_is_named_and_harms_nobody(servers, protocol):
    server = servers.wire(workers=2)
    neighbours = [Neighbour(server.port, kind) for kind in PROTOCOLS for _ in range(2)]
    for neighbour in neighbours:
        neighbour.start()
    named = []
    try:
        for _ in range(ROUNDS):
            for bad in BAD:
                status, name = send_bad(server.port, protocol, bad)
                assert status == bad[4], bad
                if bad[5] is not None:
                    refused = status if status >= 400 else 0  # else it is left out of account
                    named.append(f"bad input: {refused} {bad[5]}, client {name}: ")
    finally:
        for neighbour in neighbours:
            neighbour.over.set()
        for neighbour in neighbours:
            neighbour.join(30)
    assert [neighbour.failure for neighbour in neighbours] == [None] * len(neighbours)
    assert all(neighbour.rounds > 3 for neighbour in neighbours)
    for line in named:
        assert server.stderr.wait_for(lambda lines, line=line: any(line in one for one in lines),
                                      10), line
    told = [line for line in server.stderr.text.splitlines() if line.startswith("bad input: ")]
    assert len(told) == len(named)  # once each, and nothing of those who did no wrong
    assert "error: " not in server.stderr.text
