"""`rivulet bench --http2`: against servers of several makers, and against one that breaks off, turns away and
talks nonsense on purpose."""

import contextlib
import json
import socket
import struct
import subprocess
import threading
import time

import pytest

from support.command import rivulet
from support.waiting import wait_until

N = 200
TIMEOUT_S = 20

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4
REFUSED_STREAM, CANCEL, ENHANCE_YOUR_CALM = 7, 8, 11
STATUS_200 = b"\x88"  # an entry of HPACK's static table
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def bench(*words, **options):
    return rivulet("bench", "--http2", "-c", 3, "--streams", 5, *words, **options)


def result(*words, **options):
    return json.loads(bench("-q", "--format", "json", *words, **options).out)


def findings(run):
    return {finding["id"]: finding["text"] for finding in run["why"]}


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def answer(stream):
    return (frame(HEADERS, END_HEADERS, stream, STATUS_200)
            + frame(DATA, END_STREAM, stream, b"Ok"))


def goaway(last, code=0):
    return frame(GOAWAY, 0, 0, struct.pack(">II", last, code))


class Raw:
    """A server of frames: `script(stream, number)` gives the octets that answer a request, the `number`th
    of its connection, and None to close the connection."""

    def __init__(self, script, first=frame(SETTINGS)):
        self.script, self.first = script, first
        self.connections = 0
        self.frames = []  # (type, stream, payload) of all that came
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/ok"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, contextlib.suppress(OSError, struct.error):
            connection.settimeout(TIMEOUT_S)
            reader = connection.makefile("rb")
            assert reader.read(len(PREFACE)) == PREFACE
            connection.sendall(self.first)
            number = 0
            while True:
                head = reader.read(9)
                length, kind, flags, stream = struct.unpack(">IBBI", b"\0" + head)
                payload = reader.read(length)
                self.frames.append((kind, stream, payload))
                if kind == SETTINGS and not flags & ACK:
                    connection.sendall(frame(SETTINGS, ACK))
                if kind != HEADERS:
                    continue
                number += 1
                octets = self.script(stream, number)
                if octets is None:
                    return
                connection.sendall(octets)


# ---- servers -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo(module_servers):
    return module_servers.demo()


@pytest.fixture(scope="module")
def secure_demo(module_servers):
    return module_servers.demo("--tls-listen", "127.0.0.1:0", "--tls-self-signed", listen=[],
                               addresses=1)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(*words, port):
    with subprocess.Popen([*map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(200):
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                time.sleep(0.02)
            yield server
        finally:
            server.terminate()


def test_the_demo_answers_without_being_asked(demo):
    run = result("-n", N, demo.url("/ok"))
    assert run["requests"]["answered"] == run["statuses"]["200"] == N
    assert run["octets"]["content_octets"] == 2 * N
    assert run["connections"]["connects"] == 3
    assert run["http2"] == {"http2": True, "streams": 5, "streams_limit": 0, "goaways": 0,
                            "sent_again": 0}
    assert all(law["holds"] for law in run["laws"])


def test_the_demo_answers_by_alpn(secure_demo):
    run = result("--insecure", "-n", N, f"https://127.0.0.1:{secure_demo.port}/ok")
    assert run["requests"]["answered"] == run["statuses"]["200"] == N
    assert run["tls"]["tls_full"] == 3


def test_nghttpd_answers(tmp_path):
    port = free_port()
    (tmp_path / "ok").write_bytes(b"Ok")
    (tmp_path / "big").write_bytes(b"k" * 3_000_000)
    with running("nghttpd", "--no-tls", "-a", "127.0.0.1", "-d", tmp_path, port, port=port):
        run = result("-n", N, f"http://127.0.0.1:{port}/ok")
        assert run["statuses"] == {"200": N}
        assert run["server_software"].startswith("nghttpd")
        run = result("-n", 20, f"http://127.0.0.1:{port}/big")
        assert run["octets"]["content_octets"] == 20 * 3_000_000
        run = result("-n", 20, "-I", f"http://127.0.0.1:{port}/big")
        assert (run["statuses"], run["octets"]["content_octets"]) == ({"200": 20}, 0)
        run = result("-n", 20, f"http://127.0.0.1:{port}/none")
        assert run["statuses"] == {"404": 20}


def test_a_schedule_is_kept(demo):
    run = json.loads(rivulet("bench", "--http2", "--streams", 5, "-q", "--format", "json", "-t",
                             "500ms", "-R", 400, demo.url("/ok")).out)
    assert run["requests"]["due"] == 200
    assert run["requests"]["answered"] + run["requests"]["in_flight"] == 200
    assert run["connections"]["connects"] <= 3


def test_bodies_fields_and_several_urls(demo):
    with Raw(lambda stream, _: answer(stream)) as server:
        run = result("-n", 30, "-d", "a=1", "-H", "Connection: close", "-H", "X-Own: Yes",
                     server.url, server.url + "?2")
        assert run["requests"]["answered"] == 30
        assert run["connections"]["connects"] == 3
        assert sum(kind == DATA and payload == b"a=1" for kind, _, payload in server.frames) == 30
    run = result("-n", 20, "-d", "x" * 100_000, demo.url("/echo"))
    assert run["requests"]["answered"] == 20


def test_a_new_connection_after_so_many_requests(demo):
    run = result("-n", 60, "--requests-per-connection", 10, demo.url("/ok"))
    assert run["requests"]["answered"] == 60
    assert 6 <= run["connections"]["connects"] <= 9
    run = json.loads(rivulet("bench", "-q", "--format", "json", "--http2", "-c", 2, "-n", 20,
                             "--no-keepalive", demo.url("/ok")).out)
    assert run["connections"]["connects"] == run["requests"]["answered"] == 20


def test_a_servers_limit_is_kept_to_and_told():
    limit = frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 2))
    with Raw(lambda stream, _: answer(stream), first=limit) as server:
        ended = bench("-n", 60, server.url)
        assert "the server allowed 2 streams at once on a connection, not 5" in ended.out
        assert "60 answered, 0 failed" in ended.out


def test_the_first_line_says_how(demo):
    out = bench("-n", 20, demo.url("/ok")).out
    assert "3 clients, keep-alive, HTTP/2 with 5 streams each, 20 requests" in out.splitlines()[0]


# ---- servers that do not speak it ------------------------------------------------------------------


def test_a_server_of_http_1_is_told():
    def serve(listener):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        run = result("-n", 20, f"http://127.0.0.1:{listener.getsockname()[1]}/", code=2)
    assert run["failures"]["http2_refused"]["count"] > 0
    assert run["requests"]["answered"] == 0
    assert "does not speak HTTP/2" in findings(run)["http2_refused"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench_http2")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost", "-days", "2",
                    "-out", folder / "crt", "-keyout", folder / "key"], check=True,
                   capture_output=True, timeout=TIMEOUT_S)
    return folder / "crt", folder / "key"


@pytest.mark.parametrize("words, said", [(["-alpn", "http/1.1"], "no application protocol"),
                                         ([], "the server chose no protocol")])
def test_alpn_that_does_not_choose_it_is_told(certificate, words, said):
    port = free_port()
    with running("openssl", "s_server", "-quiet", "-accept", port, "-cert", certificate[0], "-key",
                 certificate[1], "-www", *words, port=port):
        run = result("--insecure", "-n", 20, f"https://127.0.0.1:{port}/", code=2)
    assert run["failures"]["http2_refused"]["count"] == run["requests"]["failed"] > 0
    assert said in findings(run)["http2_refused"]


# ---- servers that break off --------------------------------------------------------------------------


def test_codes_of_resets_are_counted_by_name(tmp_path):
    def script(stream, number):
        code = (None, REFUSED_STREAM, 0x77)[number % 3]
        return answer(stream) if code is None else frame(RST_STREAM, 0, stream,
                                                         struct.pack(">I", code))

    saved = tmp_path / "run.json"
    with Raw(script) as server:
        ended = bench("-n", 90, "-o", saved, server.url, code=None)
    run = json.loads(saved.read_text())
    codes = run["failures"]["stream_reset"]["codes"]
    assert set(codes) == {"REFUSED_STREAM", "119"}
    assert sum(codes.values()) == run["failures"]["stream_reset"]["count"]
    assert run["requests"]["answered"] + run["requests"]["failed"] == 90
    assert "stream reset by the server  (" in ended.out
    assert f"REFUSED_STREAM {codes['REFUSED_STREAM']}" in ended.out
    again = rivulet("report", saved, code=None).out
    assert f"REFUSED_STREAM {codes['REFUSED_STREAM']}" in again


def test_what_goaway_leaves_out_is_sent_again():
    def script(stream, number):  # ten each
        return answer(stream) + (goaway(stream) if number == 10 else b"") if number <= 10 else b""

    with Raw(script) as server:
        run = result("-n", 100, server.url)
    assert run["requests"]["answered"] == 100
    assert run["http2"]["goaways"] >= 10 - 3
    assert run["http2"]["sent_again"] > 0
    assert run["connections"]["connects"] >= 10


def test_a_server_that_turns_all_away_is_no_endless_loop():
    with Raw(lambda stream, _: goaway(0, ENHANCE_YOUR_CALM)) as server:
        run = result("-n", 30, server.url, code=None)
    assert run["requests"]["failed"] == 30
    assert run["failures"]["goaway"]["codes"] == {"ENHANCE_YOUR_CALM": 30}


def test_a_connection_that_closes_takes_its_requests_with_it():
    with Raw(lambda stream, number: answer(stream) if number < 7 else None) as server:
        run = result("-n", 60, server.url, code=None)
    requests = run["requests"]
    assert requests["started"] == 60 == requests["answered"] + requests["failed"]
    assert requests["failed"] > 0


@pytest.mark.parametrize("nonsense, code", [
    (frame(PING, 0, 0, b"short"), "FRAME_SIZE_ERROR"),
    (frame(DATA, 0, 0, b"x"), "PROTOCOL_ERROR"),
    (frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff"), "COMPRESSION_ERROR"),
])
def test_nonsense_has_its_code(nonsense, code):
    with Raw(lambda *_: nonsense) as server:
        run = result("-n", 15, server.url, code=None)
    assert run["failures"]["http2_error"]["codes"][code] > 0
    assert run["requests"]["failed"] == 15


def test_time_limits_cancel_one_stream():
    with Raw(lambda stream, number: b"" if number == 2 else answer(stream)) as server:
        run = json.loads(rivulet("bench", "-q", "--format", "json", "--http2", "-c", 1, "--streams",
                                 2, "-t", "700ms", "--timeout", "300ms", server.url).out)
        assert run["failures"]["wait_timeout"]["count"] == run["requests"]["failed"] == 1
        assert run["connections"]["connects"] == 1
        resets = wait_until(lambda: [payload for kind, _, payload in server.frames
                                     if kind == RST_STREAM], what="RST_STREAM")
        assert resets == [struct.pack(">I", CANCEL)]


# ---- options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words, said", [
    (["--streams", "3"], "--streams is of no use without --http2"),
    (["--http2", "--pipeline", "2"], "--streams"),
    (["--http2", "--http1.0"], "a connection speaks one of them"),
    (["--http2", "--streams", "0"], "--streams takes a whole number from 1 to 10000"),
    (["--http2", "--streams", "2", "--no-keepalive"], "share a connection"),
])
def test_options_that_do_not_go_together(words, said):
    assert said in rivulet("bench", *words, "127.0.0.1:1", code=1).err
