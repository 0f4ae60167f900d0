"""Clients of HTTP/2 that keep the rules and do harm: each is cut, a counter tells, nobody else suffers.

A flooder must be told ENHANCE_YOUR_CALM. A neighbour on a connection of its own asks again and again
meanwhile; its waiting is bounded by seconds, not milliseconds: the machine has other work too.
"""

import contextlib
import re
import select
import ssl
import threading
import time

import pytest

from support import client as h1
from support import h2_frames as h2
from support.h2_client import H2Client, ask_once
from support.processes import cpu_s, resident_bytes
from support.waiting import wait_until

pytestmark = pytest.mark.alone

MIB = 1 << 20
NEIGHBOUR_MAX_S = 3.0
FLOOD_OCTETS_MAX = 64 * MIB
CALM = "ENHANCE_YOUR_CALM"
HELD = "/slow?ms=60000"  # a request that keeps its stream open


@pytest.fixture(scope="module")
def target(module_servers):
    return module_servers.wire(workers=2)


@contextlib.contextmanager
def neighbour(port):
    """Asks on a kept connection; fails when one of its answers is late."""
    stop, served, waits, failures = threading.Event(), threading.Event(), [], []

    def live():
        try:
            with H2Client(port, timeout_s=15) as client:
                for stream in range(1, 1 << 20, 2):
                    started = time.monotonic()
                    assert client.ask(h2.get(stream), stream).body == b"Hello, world\r\n"
                    waits.append(time.monotonic() - started)
                    served.set()
                    if stop.wait(0.005):
                        return
        except (AssertionError, OSError) as failure:
            failures.append(failure)
    thread = threading.Thread(target=live)
    thread.start()
    served.wait(15)
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failures, failures
    assert waits and max(waits) < NEIGHBOUR_MAX_S, f"the neighbour waited {max(waits)} s"


def counter(server, name):
    text = h1.ask_once(server.port, h1.get("/counters")).body.decode()
    return int(re.search(rf"^{name} (\d+)$", text, re.MULTILINE).group(1))


def pour(client, octets):
    """Sends while it takes, reads what comes; until all is sent or the server has ended it. Returns how
    many octets it took."""
    client.socket.setblocking(False)
    poll = select.poll()
    poll.register(client.socket, select.POLLIN | select.POLLOUT)
    sent, deadline = 0, time.monotonic() + 30
    while sent < len(octets) and not client.ended:
        assert time.monotonic() < deadline, client.story()
        poll.poll(1000)
        client.receive(0)
        with contextlib.suppress(BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            try:
                sent += client.socket.send(octets[sent:sent + 65536])
            except (BrokenPipeError, ConnectionResetError):
                break
    client.socket.settimeout(client.timeout_s)
    return sent


def many(make, count, first=1):
    """`make(stream)` for so many streams, one behind the other."""
    return b"".join(make(stream) for stream in range(first, first + 2 * count, 2))


def check_cut(server, octets, before=b"", settings=None):
    """A flood of these octets is cut with ENHANCE_YOUR_CALM; returns how many of them were taken."""
    assert len(octets) < FLOOD_OCTETS_MAX
    with neighbour(server.port), H2Client(server.port, settings=settings) as client:
        client.send(before)
        client.ping()
        sent = pour(client, octets)
        assert client.wait_end() == CALM, client.story()
    assert ask_once(server.port).status == 200
    return sent


# ---- frames that cost nothing --------------------------------------------------------------------

def rapid_reset(stream):
    return h2.get(stream, HELD) + h2.rst_stream(stream)


def window_overflow(stream):
    return h2.get(stream, HELD) + h2.window_update(stream, h2.WINDOW_MAX) * 2


def short_body(stream):
    return h2.post(stream, "/echo", b"", [("content-length", "5")])


def upper_case(stream):
    return h2.get(stream, fields=[("X", "y")])


def empty_name(stream):
    return h2.get(stream, fields=[("", "")])


FLOODS = {
    "rapid reset": ("reset", many(rapid_reset, 10000)),
    "SETTINGS": ("settings", h2.settings({"MAX_FRAME_SIZE": 16384}) * 20000),
    "empty SETTINGS": ("settings", h2.settings() * 20000),
    "PING": ("ping", h2.ping() * 50000),
    "PING acknowledgements": ("ping", h2.ping(ack=True) * 50000),
    "PRIORITY": ("priority", h2.priority(1, 0) * 50000),
    "PRIORITY of many streams": ("priority", many(lambda stream: h2.priority(stream, 0), 50000)),
    "PRIORITY_UPDATE": ("priority", h2.priority_update(1, "u=1") * 50000),
    "WINDOW_UPDATE": ("window_update", h2.window_update(0, 1) * 50000),
    "unknown frames": ("unknown", h2.frame(0x40, 0) * 50000),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_is_cut(target, flood):
    kind, octets = FLOODS[flood]
    before = counter(target, f"h2_{kind}_floods")
    check_cut(target, octets)
    assert counter(target, f"h2_{kind}_floods") == before + 1


@pytest.mark.parametrize("provoke", [window_overflow, short_body, upper_case,
                                     empty_name, rapid_reset], ids=lambda make: make.__name__)
def test_streams_that_make_the_server_reset_them_are_cut(target, provoke):
    """MadeYouReset (CVE-2025-8671), in portions that keep within the streams allowed at a time."""
    before = counter(target, "h2_reset_floods")
    with neighbour(target.port), H2Client(target.port) as client:
        first = 1
        while not client.ended and first < 20000:
            pour(client, many(provoke, 50, first) + h2.ping())
            client.receive(0.01)
            first += 100
        assert client.wait_end() == CALM, client.story()
    assert counter(target, "h2_reset_floods") == before + 1


def test_a_flood_of_empty_data_is_cut(target):
    before = counter(target, "h2_empty_data_floods")
    check_cut(target, h2.data(1) * 50000, before=h2.headers(1, h2.block(
        h2.request("/echo", "POST"))))
    assert counter(target, "h2_empty_data_floods") == before + 1


def test_data_behind_a_reset_is_cut(target):
    """DATA that keeps coming on streams that the server has reset."""
    head = h2.headers(1, h2.block(h2.request("/echo", "POST")))
    with H2Client(target.port) as client:
        client.send(head + h2.rst_stream(1))
        pour(client, h2.data(1) * 50000)
        assert client.wait_end() in (CALM, "STREAM_CLOSED"), client.story()


def test_windows_that_make_data_tiny_are_cut(target):
    """A window of one octet, a megabyte to send, and a WINDOW_UPDATE for each octet of it."""
    before = counter(target, "h2_small_data_floods") + counter(target, "h2_window_update_floods")
    check_cut(target, h2.window_update(1, 1) * 50000, before=h2.get(1, "/big?size=1000000"),
              settings={"INITIAL_WINDOW_SIZE": 1})
    assert counter(target, "h2_small_data_floods") \
        + counter(target, "h2_window_update_floods") == before + 1


@pytest.mark.parametrize("block", [b"", h2.literal("x-a", "1")], ids=["empty", "full"])
def test_a_flood_of_continuation_is_cut_by_the_ninth(target, block):
    before = counter(target, "h2_continuation_floods")
    with neighbour(target.port), H2Client(target.port) as client:
        client.ping()
        client.send(h2.headers(1, h2.block(h2.request()), end=True, end_headers=False))
        count = 0
        while not client.ended and count < 100:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.send(h2.continuation(1, block, end_headers=False))
            count += 1
            client.receive(0.05)
        assert client.wait_end() == CALM, client.story()
        assert count <= 12, f"cut behind {count} frames"
    assert counter(target, "h2_continuation_floods") == before + 1


def test_a_flood_that_reads_nothing_costs_no_memory(target):
    """Ten clients that send PING and SETTINGS and never read what that makes the server write."""
    ask_once(target.port)
    before = resident_bytes(target.pid)
    clients = [H2Client(target.port, receive_buffer=4096, timeout_s=0.5) for _ in range(10)]
    for client in clients:
        with contextlib.suppress(OSError):
            for _ in range(200):
                client.socket.sendall((h2.ping() + h2.settings()) * 500)
    assert ask_once(target.port).status == 200
    assert resident_bytes(target.pid) - before < 32 * MIB
    for client in clients:
        client.close()


# ---- HPACK ---------------------------------------------------------------------------------------

def bomb(stream, references):
    return h2.headers(stream, h2.block(h2.request()) + (
        h2.literal("x-b", "b" * 4000, first=0x40) if stream == 1 else b"") + b"\xbe" * references,
        end=True)


def test_references_to_one_large_field_leave_memory_flat(target):
    """12 000 octets stand for 48 MB: what counts is the decoded size."""
    with H2Client(target.port) as client:
        assert client.ask(bomb(1, 1)).status == 200
    before = resident_bytes(target.pid)
    with neighbour(target.port):
        for _ in range(20):
            with H2Client(target.port) as client:
                for stream in range(1, 20, 2):
                    client.send(bomb(stream, 12000))
                stream = client.wait_over(1)
                assert stream.status == 431 or stream.reset, client.story()
    assert resident_bytes(target.pid) - before < 32 * MIB


# ---- stalls --------------------------------------------------------------------------------------

def test_a_client_that_opens_no_window_is_cut(servers):
    server = servers.wire(write_stall_ms=500)
    with neighbour(server.port), H2Client(server.port, settings={"INITIAL_WINDOW_SIZE": 0}) as client:
        started = time.monotonic()
        client.send(h2.get(1, "/big?size=1000000"))
        client.wait_for(lambda reader: client.ended or reader.stream(1).reset, "the end", 10)
        assert 0.3 < time.monotonic() - started < 5
    assert counter(server, "h2_window_stalls") == 1


def test_a_client_that_opens_no_window_of_the_connection_is_cut(servers):
    server = servers.wire(write_stall_ms=500)
    with neighbour(server.port), H2Client(server.port,
                                          settings={"INITIAL_WINDOW_SIZE": h2.WINDOW_MAX}) as client:
        client.send(many(lambda stream: h2.get(stream, "/big?size=1000000"), 20))
        assert client.wait_end(10) == CALM
    assert counter(server, "h2_window_stalls") == 1


def test_a_window_that_grows_too_slowly_is_no_stall(servers):
    """Progress, however slow, is none of this limit's business."""
    server = servers.wire(write_stall_ms=500)
    with H2Client(server.port, settings={"INITIAL_WINDOW_SIZE": 1}) as client:
        client.send(h2.get(1, "/big?size=8"))
        for _ in range(7):
            time.sleep(0.2)
            client.open_window(1, 1)
        assert client.wait_over(1).body == b"X" * 8


def test_open_windows_and_a_client_that_does_not_read(servers):
    server = servers.wire(write_stall_ms=1000, workers=1)
    ask_once(server.port)
    before = resident_bytes(server.pid)
    with neighbour(server.port):
        clients = [H2Client(server.port, receive_buffer=4096,
                            settings={"INITIAL_WINDOW_SIZE": h2.WINDOW_MAX}) for _ in range(10)]
        for client in clients:
            client.open_window(0, h2.WINDOW_MAX - h2.WINDOW)
            client.send(many(lambda stream: h2.get(stream, "/big?size=1000000000"), 20))
        wait_until(lambda: counter(server, "write_stalls") == 10, 15, "ten stalls")
        assert resident_bytes(server.pid) - before < 64 * MIB
    for client in clients:
        client.close()


def test_stalled_streams_do_not_make_it_spin(servers):
    server = servers.wire(workers=1)
    with H2Client(server.port, settings={"INITIAL_WINDOW_SIZE": 0}) as client:
        client.send(many(lambda stream: h2.get(stream, "/big?size=1000000"), 100))
        client.wait_for(lambda reader: len(reader.streams) == 100, "100 heads")
        used = cpu_s(server.pid)
        time.sleep(1)
        assert cpu_s(server.pid) - used < 0.2


# ---- slow clients --------------------------------------------------------------------------------

def test_a_field_section_that_never_ends(servers):
    server = servers.wire(head_timeout_ms=400)
    with neighbour(server.port), H2Client(server.port) as client:
        client.send(h2.headers(1, h2.block(h2.request()), end_headers=False))
        assert client.wait_end(8) == CALM
    assert counter(server, "head_timeouts") == 1


def test_a_frame_that_never_ends(servers):
    """The head of HEADERS, and nothing behind it."""
    server = servers.wire(head_timeout_ms=400, idle_timeout_ms=600)
    with H2Client(server.port) as client:
        client.send(h2.get(1)[:20])
        client.wait_end(8)


def test_a_preface_that_never_ends(servers):
    server = servers.wire(head_timeout_ms=400, idle_timeout_ms=600)
    with H2Client(server.port, start=False) as client:
        client.send(h2.PREFACE[:10])
        client.wait_end(8)
    with H2Client(server.port, start=False) as client:
        client.send(h2.PREFACE)
        client.wait_end(8)


def test_a_body_that_drips(servers):
    server = servers.wire(body_grace_ms=500)
    with neighbour(server.port), H2Client(server.port) as client:
        client.send(h2.headers(1, h2.block(h2.request("/echo", "POST"))))
        for _ in range(40):
            client.send(h2.data(1, b"x"))
            client.receive(0.1)
            if client.reader.stream(1).over:
                break
        assert client.reader.stream(1).status == 408
        assert client.ask(h2.get(3), 3).status == 200, "the connection lives on"
    assert counter(server, "body_too_slow") == 1


def test_a_body_that_never_comes(servers):
    server = servers.wire(body_grace_ms=500)
    with H2Client(server.port) as client:
        client.send(h2.headers(1, h2.block(h2.request("/echo", "POST"))))
        assert client.wait_over(1, timeout_s=8).status == 408


def test_a_connection_at_rest_ends_with_goaway(servers):
    server = servers.wire(idle_timeout_ms=300)
    with H2Client(server.port) as client:
        assert client.ask(h2.get(1)).status == 200
        assert client.wait_end(8) == "NO_ERROR"
    assert counter(server, "idle_timeouts") == 1


def test_pings_keep_no_connection_for_ever(servers):
    """A connection without requests is at rest, whatever else comes."""
    server = servers.wire(idle_timeout_ms=500)
    with H2Client(server.port) as client:
        deadline = time.monotonic() + 8
        while not client.ended:
            assert time.monotonic() < deadline, "still open"
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                client.send(h2.ping())
            client.receive(0.1)


# ---- windows of the server -----------------------------------------------------------------------

def test_a_client_that_sends_beyond_its_windows(target):
    """Its echo is stuck, so what it sends is not taken, and its windows are not given back."""
    with H2Client(target.port, settings={"INITIAL_WINDOW_SIZE": 0}) as client:
        client.send(h2.headers(1, h2.block(h2.request("/echo-stream", "POST"))))
        client.ping()
        window = client.reader.settings["INITIAL_WINDOW_SIZE"]
        pour(client, h2.data(1, b"x" * 16384) * (window * 8 // 16384))
        stream = client.reader.stream(1)
        client.wait_for(lambda _: client.ended or stream.reset, "the end of the stream")
        assert "FLOW_CONTROL_ERROR" in (stream.reset, client.fate()), client.story()
    assert ask_once(target.port).status == 200


def test_an_upload_larger_than_all_windows(target):
    """The windows are given back as the handler takes the content, on the connection and the stream."""
    with H2Client(target.port, settings={"INITIAL_WINDOW_SIZE": h2.WINDOW_MAX}) as client:
        client.open_window(0, h2.WINDOW_MAX - h2.WINDOW)
        client.ping()
        left, room = 8 * MIB, client.reader.settings.get("INITIAL_WINDOW_SIZE", h2.WINDOW)
        room_of_all = h2.WINDOW + sum(frame.number for frame in client.reader.frames
                                      if frame.name == "WINDOW_UPDATE" and frame.stream == 0)
        seen = len(client.reader.frames)
        client.send(h2.headers(1, h2.block(h2.request("/echo-stream", "POST"))))
        while left > 0:
            piece = min(left, room, room_of_all, 16384)
            if piece > 0:
                client.send(h2.data(1, b"x" * piece, end=piece == left))
                left, room, room_of_all = left - piece, room - piece, room_of_all - piece
                client.receive(0)
            else:
                assert client.receive(10), f"no window comes: {client.story()}"
            for frame in client.reader.frames[seen:]:
                if frame.name == "WINDOW_UPDATE" and frame.stream == 0:
                    room_of_all += frame.number
                elif frame.name == "WINDOW_UPDATE":
                    room += frame.number
            seen = len(client.reader.frames)
        assert client.wait_over(1, timeout_s=30).body == b"x" * (8 * MIB)


def test_windows_of_streams_that_were_reset_come_back(target):
    """DATA of streams that are no more counts in the connection's window: it must be given back."""
    with H2Client(target.port) as client:
        client.ping()
        for stream in range(1, 200, 2):
            client.send(h2.headers(stream, h2.block(h2.request("/echo", "POST"))) +
                        h2.data(stream, b"x" * 16000) + h2.rst_stream(stream))
            if stream % 20 == 1:
                client.ping()
        given = sum(frame.number for frame in client.reader.frames
                    if frame.name == "WINDOW_UPDATE" and frame.stream == 0)
        assert given > 100 * 16000 - (1 << 20)
        body = b"y" * 60000
        client.send(h2.headers(201, h2.block(h2.request("/echo", "POST"))))
        for start in range(0, len(body), 15000):
            client.send(h2.data(201, body[start:start + 15000], end=start + 15000 == len(body)))
        assert client.wait_over(201).body == body
