"""Clients that misbehave: nobody else is harmed, nothing is left behind, and the server lives on.

A neighbour asks for /ok again and again while the others misbehave. Its waiting is bounded by
seconds, not milliseconds: the machine has other work too.
"""

import concurrent.futures
import contextlib
import os
import random
import resource
import signal
import socket
import struct
import threading
import time

import pytest

from support import leftovers
from support.client import Client, ask_once, get, post
from support.processes import cpu_s, descriptors, resident_bytes
from support.waiting import wait_until

pytestmark = pytest.mark.alone

OK = get("/ok")
MIB = 1 << 20
NEIGHBOUR_MAX_S = 3.0


@contextlib.contextmanager
def neighbour(port):
    """A client that behaves well, on a kept connection; fails when one of its answers is late."""
    stop, served, waits, failures = threading.Event(), threading.Event(), [], []

    def live():
        try:
            with Client(port, timeout_s=15) as client:
                while not stop.is_set():
                    started = time.monotonic()
                    assert client.ask(OK).body == b"Ok"
                    waits.append(time.monotonic() - started)
                    served.set()
                    stop.wait(0.005)
        except (AssertionError, OSError) as failure:
            failures.append(failure)
    thread = threading.Thread(target=live)
    thread.start()
    served.wait(15)  # it lives next door before anything happens
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failures, failures
    assert waits and max(waits) < NEIGHBOUR_MAX_S, f"the neighbour waited {max(waits)} s"


def nothing_left_behind(server):
    return leftovers.nothing_left_behind(server, lambda: ask_once(server.port, OK).body == b"Ok")


def send_and_leave(port, octets, leave):
    """Connects, sends what the server takes, and ends the connection with `leave`."""
    try:
        client = Client(port)
        try:
            client.send(octets)
        finally:
            leave(client)
    except (ConnectionResetError, BrokenPipeError, ConnectionAbortedError):
        pass


def test_random_octets(demo):
    chance = random.Random(1)
    with nothing_left_behind(demo), neighbour(demo.port):
        for _ in range(2000):
            octets = chance.randbytes(chance.choice([1, 7, 100, 1000, 5000]))
            send_and_leave(demo.port, octets, Client.close)


def test_requests_with_a_few_octets_changed(demo):
    chance = random.Random(2)
    whole = post("/echo", b"hello") + get("/sizer?size=1000") + get("/", "Range: bytes=0-3\r\n")
    with nothing_left_behind(demo), neighbour(demo.port):
        for _ in range(2000):
            octets = bytearray(whole)
            for _ in range(chance.randint(1, 4)):
                octets[chance.randrange(len(octets))] = chance.randrange(256)
            send_and_leave(demo.port, bytes(octets), Client.close)


def test_half_requests(demo):
    whole = post("/echo", b"hello", "Expect: 100-continue\r\n")
    with nothing_left_behind(demo), neighbour(demo.port):
        for length in range(len(whole)):
            send_and_leave(demo.port, whole[:length], Client.close)
            send_and_leave(demo.port, whole[:length], Client.half_close)


TALKS = {
    "a small answer": OK * 3,
    "a large answer": get("/sizer?size=50000000"),
    "an echo": post("/echo", b"x" * 20000),
    "a chunked echo": get("/echo", "Transfer-Encoding: chunked\r\n", "POST")
                      + b"4000\r\n" + b"x" * 0x4000 + b"\r\n0\r\n\r\n",
    "a sleep": get("/sleep?ms=50"),
    "the pool": get("/pool/sizer?size=1000000"),
}


def test_resets_at_any_point(demo):
    """Ten thousand of them, at random octets of six talks, before, within and behind the answer."""
    def reset_somewhere(seed):
        chance = random.Random(seed)
        octets = TALKS[chance.choice(list(TALKS))]
        sent = octets[:chance.randint(0, len(octets))] if chance.random() < 0.5 else octets

        def leave(client):
            if chance.random() < 0.5:
                client.receive(chance.choice([0, 0.001, 0.02]))
            client.reset()
        send_and_leave(demo.port, sent, leave)

    with nothing_left_behind(demo), neighbour(demo.port):
        started = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(reset_somewhere, range(10000)))
        assert time.monotonic() - started < 120


def test_segments_of_one_octet(demo):
    octets = (OK + post("/echo", b"hello")
              + get("/echo", "Transfer-Encoding: chunked\r\n", "POST") + b"5\r\nhello\r\n0\r\n\r\n")
    with nothing_left_behind(demo), neighbour(demo.port), Client(demo.port) as client:
        for octet in octets:
            client.send(bytes([octet]))
        assert [client.answer().body for _ in range(3)] == [b"Ok", b"hello", b"hello"]


@pytest.mark.slow
def test_ten_thousand_connections_that_send_nothing(servers):
    server = servers.demo()
    with nothing_left_behind(server):
        clients = []
        with neighbour(server.port):
            for number in range(10000):
                # One source address has 28 000 ports, and another test may just have used many.
                clients.append(Client(server.port, source=f"127.0.1.{1 + number % 4}"))
            assert ask_once(server.port, OK).body == b"Ok"
            time.sleep(3)
        # The deadline of a head, 10 s, ends them all.
        wait_until(lambda: descriptors(server.pid) < 100, 30, "the end of silent connections")
        for client in clients:
            client.close()


def drip(clients, octets, interval_s, seconds):
    """Each client sends these octets now and then; those that the server has not ended in time."""
    started, still_open = time.monotonic(), list(clients)
    while still_open and time.monotonic() - started < seconds:
        for client in list(still_open):
            try:
                client.send(octets)
                while client.receive(0):
                    pass
            except OSError:
                client.ended = True
            if client.ended:
                still_open.remove(client)
                client.close()
        time.sleep(interval_s)
    return still_open


@pytest.mark.slow
def test_slow_heads(servers):
    """Three hundred clients that send an octet of a head now and then are all ended in time."""
    server = servers.demo()
    with nothing_left_behind(server), neighbour(server.port):
        clients = [Client(server.port) for _ in range(300)]
        assert drip(clients, b"X", 0.3, 18) == []


@pytest.mark.slow
def test_slow_bodies(servers):
    """A hundred uploads of a few octets a second are ended; one that moves is not."""
    server = servers.demo()
    with nothing_left_behind(server), neighbour(server.port):
        clients = [Client(server.port) for _ in range(100)]
        for client in clients:
            client.send(post("/echo", b"x" * 100000)[:-100000])
        with Client(server.port, timeout_s=60) as good:
            body = b"y" * 24000

            def upload():
                good.send(post("/echo", body)[:-len(body)])
                for _ in range(12):
                    good.send(body[:2000])
                    time.sleep(1)
            thread = threading.Thread(target=upload)
            thread.start()
            still_open = drip(clients, b"x", 0.5, 20)
            thread.join()
            assert good.answer().body == body
        assert still_open == []


def test_clients_that_never_read_cost_little(servers):
    server = servers.demo()
    ask_once(server.port, OK)
    before = resident_bytes(server.pid)
    with neighbour(server.port):
        clients = [Client(server.port, receive_buffer=4096) for _ in range(100)]
        for client in clients:
            client.send(get("/sizer?size=1000000000") * 10)
        time.sleep(2)
        spent = cpu_s(server.pid)
        time.sleep(1)
    assert resident_bytes(server.pid) - before < 64 * MIB
    with Client(server.port) as client:
        started = cpu_s(server.pid)
        time.sleep(1)
        assert client.ask(OK).body == b"Ok"
        assert cpu_s(server.pid) - started < 0.2, "it spins on clients that do not read"
    assert spent < 60
    for client in clients:
        client.close()


def test_clients_that_never_read_their_echo_stop_being_read(servers):
    server = servers.demo("--workers", "1")
    ask_once(server.port, OK)
    before = resident_bytes(server.pid)
    block = b"x" * (1 << 18)
    clients = [Client(server.port, receive_buffer=4096, timeout_s=0.5) for _ in range(8)]
    with neighbour(server.port):
        for client in clients:
            client.send(post("/echo").replace(b"Length: 0", b"Length: 1000000000"))
            sent = 0
            with contextlib.suppress(TimeoutError):
                while sent < 100 * MIB:
                    sent += client.socket.send(block)
            assert sent < 40 * MIB, "read although nobody takes the echo"
    assert resident_bytes(server.pid) - before < 48 * MIB
    for client in clients:
        client.close()


def test_sigpipe_does_not_kill(servers):
    """A thousand clients that reset within a large answer."""
    server = servers.demo()
    with nothing_left_behind(server):
        for _ in range(1000):
            client = Client(server.port)
            client.send(get("/sizer?size=100000000"))
            client.receive(1)
            client.reset()


def test_a_reset_right_behind_a_request_is_no_half_close(demo):
    """Both in one event: nobody is left to answer, and the connection is not kept for it."""
    before = descriptors(demo.pid)
    clients = [Client(demo.port) for _ in range(20)]
    for client in clients:
        assert client.ask(OK).body == b"Ok"
    os.kill(demo.pid, signal.SIGSTOP)
    try:
        for client in clients:
            client.send(get("/sleep?ms=60000"))
            client.reset()
    finally:
        os.kill(demo.pid, signal.SIGCONT)
    wait_until(lambda: descriptors(demo.pid) <= before, 10, "closed descriptors")


# ---- no descriptors left -------------------------------------------------------------------------

def connect_without_waiting(port):
    made = socket.socket()
    made.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        made.connect(("127.0.0.1", port))
    return made


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))


@pytest.mark.slow
@pytest.mark.parametrize("when", ["from the start", "while it runs"])
def test_a_server_without_descriptors_waits_quietly_and_serves_again(servers, when):
    """With 64 descriptors and 500 connections it neither spins nor ends, as many servers did.

    A server that knows its limit from the start keeps below it; one whose limit is lowered while it
    runs meets EMFILE.
    """
    server = servers.demo("--workers", "1",
                          preexec_fn=few_descriptors if when == "from the start" else None)
    if when == "while it runs":
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (64, 64))
    ask_once(server.port, OK)
    before = descriptors(server.pid)
    crowd = [connect_without_waiting(server.port) for _ in range(500)]
    for client in crowd[:100]:  # these are busy, so that recycling idle ones does not help
        with contextlib.suppress(OSError):
            client.send(get("/sleep?ms=60000"))
    wait_until(lambda: descriptors(server.pid) > before + 10, 10, "a crowded server")
    time.sleep(0.5)
    started, used = time.monotonic(), cpu_s(server.pid)
    time.sleep(5)
    share = (cpu_s(server.pid) - used) / (time.monotonic() - started)
    assert share < 0.05, f"{share:.0%} of a core while it can do nothing"
    assert "accepting paused" in server.stderr.text
    assert len(server.stderr.all) < 20, "a line a second at most"
    for client in crowd:  # a mere end could be half of one: the sleepers would be waited for
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    assert ask_once(server.port, OK, timeout_s=15).body == b"Ok"
    wait_until(lambda: descriptors(server.pid) <= before, 20, "closed descriptors")


@pytest.mark.slow
def test_idle_connections_make_room_when_descriptors_are_short(servers):
    server = servers.demo("--workers", "1", preexec_fn=few_descriptors)
    idle = []
    for _ in range(150):
        client = Client(server.port)
        assert client.ask(OK).body == b"Ok"
        idle.append(client)
    for client in idle:
        client.close()


def test_memory_does_not_grow_with_connections_that_came_and_went(servers):
    server = servers.demo()

    def thousand_connections():
        for _ in range(1000):
            ask_once(server.port, OK)
    thousand_connections()
    before = resident_bytes(server.pid)
    for _ in range(4):
        thousand_connections()
    assert resident_bytes(server.pid) - before < 4 * MIB
    assert os.path.exists(f"/proc/{server.pid}")
