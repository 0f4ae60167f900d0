"""Real clients of HTTP/2 against the real command, over TLS and in the clear: none of their requests
may fail."""

import hashlib
import re
import shutil
import signal
import ssl
import socket
import subprocess
import time

import pytest

import h2.config
import h2.connection
import h2.events

from support import h2_frames
from support.browser import needs_browser
from support.client import Client, get
from support.h2_client import H2Client, tls_context
from support.processes import descriptors
from support.waiting import wait_until

TIMEOUT_S = 60
SIZE = 20 << 20
WAYS = pytest.mark.parametrize("way", ["clear", "tls"])


def needs(tool):
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"no {tool} here")


def run(*command, stdin=b"", **options):
    """What it prints on both of its outputs."""
    result = subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT_S,
                            check=False, **options)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    return result.stdout, result.stderr


def start(servers, *arguments):
    return servers.demo("--tls-listen", "127.0.0.1:0", "--tls-self-signed", *arguments, addresses=2)


@pytest.fixture(scope="module")
def both(module_servers):
    """The demo app with two workers, at an address in the clear and one of TLS."""
    return start(module_servers, "--workers", "2")


def url(server, way, path):
    return server.addresses[way == "tls"] + path


def port(server, way):
    return server.ports[way == "tls"]


# ---- curl ----------------------------------------------------------------------------------------

def curl(way, *arguments, stdin=b""):
    version = {"clear": "--http2-prior-knowledge", "tls": "--http2"}[way]
    return run("curl", "--silent", "--show-error", "--max-time", "20", "--fail-with-body", "--noproxy", "*",
               "--insecure", version, *arguments, stdin=stdin)[0]


@WAYS
def test_curl_gets(both, way):
    assert curl(way, "--write-out", " %{http_version}", url(both, way, "/ok")) == b"Ok 2"


@WAYS
def test_curl_asks_for_the_head(both, way):
    text = curl(way, "--head", url(both, way, "/hello")).decode()
    assert text.startswith("HTTP/2 200") and "content-length: 14\r\n" in text


@WAYS
@pytest.mark.parametrize("path", ["/echo", "/pool/echo"])
def test_curl_posts(both, way, path):
    assert curl(way, "--data", "hello", url(both, way, path)) == b"hello"


@WAYS
def test_curl_uploads_and_takes_it_back(both, way):
    """Content that needs every window many times over, streamed both ways at once."""
    content = bytes(range(256)) * (SIZE // 256)
    back = curl(way, "--upload-file", "-", url(both, way, "/echo"), stdin=content)
    assert hashlib.sha256(back).digest() == hashlib.sha256(content).digest()


@WAYS
def test_curl_waits_for_no_100(both, way):
    started = time.monotonic()
    assert curl(way, "--header", "Expect: 100-continue", "--data", "x" * 2000,
                url(both, way, "/echo")) == b"x" * 2000
    assert time.monotonic() - started < 0.9


@WAYS
@pytest.mark.parametrize("path", ["/sizer", "/pool/sizer"])
def test_curl_downloads(both, way, path):
    assert curl(way, url(both, way, f"{path}?size={SIZE}")) == b"X" * SIZE


def test_curl_asks_for_many_at_once(both):
    """Over TLS alone: curl 7.88 does not manage it with prior knowledge, whoever answers."""
    out = curl("tls", "--parallel", "--parallel-max", "50", "--write-out", "%{http_code} ",
               *["--output", "/dev/null", url(both, "tls", "/sizer?size=100000")] * 50)
    assert out == b"200 " * 50


@WAYS
def test_curl_gets_a_range_of_a_file(both, way):
    assert curl(way, "--range", "7-", url(both, way, "/static/index.html")) == b"world\r\n"


def test_curl_that_would_upgrade_stays_with_http1(both):
    """The Upgrade to h2c is no more (RFC 9113 section 3.1): it is ignored."""
    out, _ = run("curl", "--silent", "--noproxy", "*", "--http2", "--write-out", " %{http_version}",
                 url(both, "clear", "/ok"))
    assert out == b"Ok 1.1"


def test_clients_of_http1_are_served_at_the_same_addresses(both):
    for way in ("clear", "tls"):
        out, _ = run("curl", "--silent", "--insecure", "--noproxy", "*", "--http1.1", "--write-out",
                     " %{http_version}", url(both, way, "/ok"))
        assert out == b"Ok 1.1"


# ---- ALPN ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("offered, chosen", [
    (["h2", "http/1.1"], "h2"), (["http/1.1", "h2"], "h2"), (["http/1.1"], "http/1.1"),
    (["h2"], "h2"), (["unknown", "h2"], "h2"), ([], None)])
def test_what_is_agreed_on(both, offered, chosen):
    with socket.create_connection(("127.0.0.1", port(both, "tls")), TIMEOUT_S) as plain, \
            tls_context(offered).wrap_socket(plain) as secure:
        assert secure.selected_alpn_protocol() == chosen


def test_a_client_that_offers_only_what_nobody_knows(both):
    with socket.create_connection(("127.0.0.1", port(both, "tls")), TIMEOUT_S) as plain:
        with pytest.raises(ssl.SSLError, match="no application protocol"):
            tls_context(["unknown"]).wrap_socket(plain)


def test_a_preface_in_the_clear_on_the_tls_port(both):
    with Client(port(both, "tls")) as client:
        client.send(h2_frames.PREFACE + h2_frames.settings())
        assert client.rest()[:12] in (b"HTTP/1.1 400", b"")


def test_a_server_that_speaks_http1_only(servers):
    server = start(servers, "--no-http2")
    with socket.create_connection(("127.0.0.1", port(server, "tls")), TIMEOUT_S) as plain, \
            tls_context(["h2", "http/1.1"]).wrap_socket(plain) as secure:
        assert secure.selected_alpn_protocol() == "http/1.1"
    with socket.create_connection(("127.0.0.1", port(server, "tls")), TIMEOUT_S) as plain:
        with pytest.raises(ssl.SSLError, match="no application protocol"):
            tls_context(["h2"]).wrap_socket(plain)
    with Client(port(server, "clear")) as client:
        client.send(h2_frames.PREFACE + h2_frames.settings())
        assert client.rest().startswith(b"HTTP/1.1 505 ")


# ---- nghttp and h2load ---------------------------------------------------------------------------

@needs("nghttp")
@WAYS
def test_nghttp_downloads_with_small_windows(both, way):
    """A window of 2^14 octets, and frames padded."""
    out, _ = run("nghttp", "--no-verify-peer", "--window-bits=14", "--connection-window-bits=14",
                 "--padding=200", url(both, way, "/sizer?size=1000000"))
    assert out == b"X" * 1000000


@needs("nghttp")
@WAYS
def test_nghttp_uploads_with_trailers(both, way, tmp_path):
    path = tmp_path / "content"
    path.write_bytes(b"content " * 50000)
    out, _ = run("nghttp", "--no-verify-peer", "--expect-continue", "--trailer=x-t: 1",
                 "--data", str(path), url(both, way, "/echo"))
    assert out == path.read_bytes()


@needs("nghttp")
@WAYS
def test_nghttp_asks_for_many(both, way):
    out, _ = run("nghttp", "--no-verify-peer", "--multiply=100", "--null-out", "--stat",
                 url(both, way, "/hello"))
    assert len(re.findall(rb" 200 +14 /hello", out)) == 100


@needs("h2load")
@WAYS
@pytest.mark.parametrize("path, arguments", [
    ("/ok", ["-n", "20000", "-c", "8", "-m", "32"]),
    ("/pool/ok", ["-n", "2000", "-c", "8", "-m", "16"]),
    ("/sizer?size=100000", ["-n", "500", "-c", "4", "-m", "16"])])
def test_h2load_has_no_failures(both, way, path, arguments):
    out, _ = run("h2load", *arguments, url(both, way, path))
    done = arguments[1].encode()
    assert done + b" succeeded, 0 failed, 0 errored, 0 timeout" in out, out
    assert f"status codes: {arguments[1]} 2xx".encode() in out


@needs("h2load")
@WAYS
def test_h2load_posts(both, way, tmp_path):
    path = tmp_path / "body"
    path.write_bytes(b"x" * 5000)
    out, _ = run("h2load", "-n", "1000", "-c", "8", "-m", "16", "-d", str(path),
                 url(both, way, "/echo"))
    assert b"1000 succeeded, 0 failed, 0 errored, 0 timeout" in out, out


# ---- python-h2 -----------------------------------------------------------------------------------

class Hyper:
    """A client on python-h2's state machine, which refuses what is against the protocol."""

    def __init__(self, server, way):
        self.socket = socket.create_connection(("127.0.0.1", port(server, way)), TIMEOUT_S)
        if way == "tls":
            self.socket = tls_context().wrap_socket(self.socket)
        self.machine = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.machine.initiate_connection()
        self.bodies, self.heads, self.trailers, self.ended = {}, {}, {}, set()
        self.left = {}  # content that waits for a window
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def flush(self):
        self.socket.sendall(self.machine.data_to_send())

    def ask(self, path, method="GET", content=b"", fields=()):
        stream = self.machine.get_next_available_stream_id()
        self.bodies[stream] = bytearray()
        self.machine.send_headers(stream, [(":method", method), (":scheme", "http"), (":path", path),
                                           (":authority", "x"), *fields], end_stream=not content)
        if content:
            self.left[stream] = memoryview(content)
        self.send_more()
        return stream

    def send_more(self):
        for stream, content in list(self.left.items()):
            while content:
                room = min(self.machine.local_flow_control_window(stream), len(content),
                           self.machine.max_outbound_frame_size)
                if room == 0:
                    break
                self.machine.send_data(stream, bytes(content[:room]), end_stream=room == len(content))
                content = content[room:]
            self.left[stream] = content
            if not content:
                del self.left[stream]
        self.flush()

    def take(self, event):
        if isinstance(event, h2.events.ResponseReceived):
            self.heads[event.stream_id] = dict(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            self.bodies[event.stream_id] += event.data
            self.machine.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.TrailersReceived):
            self.trailers[event.stream_id] = dict(event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            self.ended.add(event.stream_id)
        assert not isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)), event

    def wait(self, *streams):
        deadline = time.monotonic() + TIMEOUT_S
        while not self.ended.issuperset(streams):
            assert time.monotonic() < deadline, self.ended
            octets = self.socket.recv(1 << 16)
            assert octets, "the server has closed"
            for event in self.machine.receive_data(octets):
                self.take(event)
            self.send_more()


@WAYS
def test_python_h2_gets_posts_and_downloads_at_once(both, way):
    content = bytes(range(256)) * 4096
    with Hyper(both, way) as client:
        streams = [client.ask("/ok"), client.ask("/sizer?size=3000000"),
                   client.ask("/echo", "POST", content), client.ask("/pool/echo", "POST", content[:9]),
                   client.ask("/sleep?ms=100"), client.ask("/absent")]
        client.wait(*streams)
        bodies = [bytes(client.bodies[stream]) for stream in streams]
        assert bodies[:5] == [b"Ok", b"X" * 3000000, content, content[:9], b"slept\n"]
        assert [client.heads[stream][":status"] for stream in streams] == ["200"] * 5 + ["404"]


@WAYS
def test_python_h2_asks_two_thousand_times_on_one_connection(both, way):
    with Hyper(both, way) as client:
        for _ in range(20):
            streams = [client.ask("/hello") for _ in range(100)]
            client.wait(*streams)
            assert all(client.bodies[stream] == b"Hello, world\r\n" for stream in streams)


# ---- a browser -----------------------------------------------------------------------------------

@needs_browser
@pytest.mark.slow
def test_chromium_loads_a_page_over_h2(both, browser):
    seen = browser.play("load", url(both, "tls", "/"))
    assert (seen["status"], seen["protocol"], seen["title"]) == (200, "h2", "rivulet")


# ---- stopping ------------------------------------------------------------------------------------

@WAYS
def test_ten_open_streams_are_finished_when_it_stops(servers, way):
    """GOAWAY twice: first that the end comes, then, a round trip later, with the last stream."""
    server = start(servers)
    with H2Client(port(server, way), tls=way == "tls") as client:
        for stream in range(1, 21, 2):
            client.send(h2_frames.get(stream, "/sleep?ms=1000"))
        client.ping()
        server.signal(signal.SIGTERM)
        client.wait_for(lambda reader: reader.goaways, "a GOAWAY")
        assert client.reader.goaways == [(h2_frames.WINDOW_MAX, "NO_ERROR")]
        client.send(h2_frames.get(21, "/ok"))  # crosses the announcement: still answered
        ping = next(frame for frame in client.reader.frames
                    if frame.name == "PING" and not frame.has(h2_frames.ACK))
        client.send(h2_frames.ping(ping.payload, ack=True))
        client.wait_for(lambda reader: len(reader.goaways) == 2, "the second GOAWAY")
        assert client.reader.goaways[1] == (21, "NO_ERROR")
        client.send(h2_frames.get(23, "/ok"))  # too late: ignored
        assert client.wait_end() == "NO_ERROR"
        streams = client.reader.streams
        assert [streams[stream].body for stream in range(1, 21, 2)] == [b"slept\n"] * 10
        assert streams[21].body == b"Ok" and 23 not in streams
    assert server.wait() == 0


@WAYS
def test_a_client_that_answers_no_ping_does_not_hold_it_up(servers, way):
    server = start(servers)
    with H2Client(port(server, way), tls=way == "tls") as client:
        client.send(h2_frames.get(1, "/sleep?ms=500"))
        client.ping()
        server.signal(signal.SIGTERM)
        assert client.wait_end() == "NO_ERROR"
        assert client.reader.goaways == [(h2_frames.WINDOW_MAX, "NO_ERROR"), (1, "NO_ERROR")]
        assert client.reader.streams[1].body == b"slept\n"
    assert server.wait() == 0


@WAYS
def test_connections_at_rest_end_at_once_when_it_stops(servers, way):
    server = start(servers)
    clients = [H2Client(port(server, way), tls=way == "tls") for _ in range(10)]
    for client in clients:
        assert client.ask(h2_frames.get(1, "/ok")).body == b"Ok"
    started = time.monotonic()
    server.signal(signal.SIGTERM)
    for client in clients:
        assert client.wait_end() == "NO_ERROR"
        client.close()
    assert server.wait() == 0
    assert time.monotonic() - started < 5


def test_a_download_is_finished_when_it_stops(servers):
    server = start(servers)
    process = subprocess.Popen(["curl", "--silent", "--noproxy", "*", "--http2-prior-knowledge",
                                "--limit-rate", "10M", url(server, "clear", f"/sizer?size={SIZE}")],
                               stdout=subprocess.PIPE)
    first = process.stdout.read(100000)
    server.signal(signal.SIGTERM)
    rest = process.stdout.read()
    assert process.wait(TIMEOUT_S) == 0 and len(first + rest) == SIZE
    assert server.wait() == 0


def test_a_second_signal_cuts_streams(servers):
    server = start(servers)
    with H2Client(port(server, "clear")) as client:
        client.send(h2_frames.get(1, "/sleep?ms=60000"))
        client.ping()
        server.expect_end = None
        server.signal(signal.SIGTERM)
        client.wait_for(lambda reader: reader.goaways, "a GOAWAY")
        server.signal(signal.SIGTERM)
        client.wait_end(5)
    server.expect_end = server.wait()


def test_a_connection_that_is_gone_takes_its_streams_along(both):
    """Streams of clients that vanish are no requests any more: nothing of them is left behind."""
    with Client(port(both, "clear")) as client:
        client.ask(get("/ok"))
    before = descriptors(both.pid)
    for _ in range(50):
        client = H2Client(port(both, "clear"))
        client.send(b"".join(h2_frames.get(stream, "/sleep?ms=60000") for stream in range(1, 41, 2)))
        client.ping()
        client.reset()
    wait_until(lambda: descriptors(both.pid) <= before, 20, "closed descriptors")
    with Client(port(both, "clear")) as client:
        assert client.ask(get("/ok")).body == b"Ok"
