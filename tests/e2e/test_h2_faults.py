"""Clients of HTTP/2 that send nonsense or go away in the middle: nothing breaks, nothing is left behind."""

import contextlib
import random
import time

import pytest

from support import h2_frames as h2, leftovers
from support.h2_client import H2Client, ask_once
from support.processes import resident_bytes
from support.waiting import wait_until

MIB = 1 << 20
PATHS = ["/", "/stream", "/trailers", "/big?size=100000", "/slow?ms=30", "/pool", "/deferred?ms=5",
         "/crash-mid", "/absent", "/204"]
UPLOADS = ["/echo", "/echo-stream", "/noread", "/request-trailer", "/crash"]


@pytest.fixture(scope="module")
def target(module_servers):
    return module_servers.wire(workers=2, tls=True)


def nothing_left_behind(server):
    return leftovers.nothing_left_behind(
        server, lambda: ask_once(server.ports[0]).body == b"Hello, world\r\n")


def say(client, octets):
    """Sends what the server takes; true while it does."""
    with contextlib.suppress(OSError):
        client.socket.settimeout(2)
        client.socket.sendall(octets)
        return True
    return False


def swallow(client, seconds):
    """Reads what is there, without judging it."""
    with contextlib.suppress(OSError):
        while client.poll.poll(seconds * 1000) and client.socket.recv(1 << 16):
            pass


# ---- nonsense ------------------------------------------------------------------------------------

def random_frame(chance):
    """Any frame on one of a few streams; the lengths are right, the rest is chance."""
    kind = chance.choice([*range(10), 16, chance.randrange(256)])
    payload = chance.randbytes(chance.choice([0, 1, 4, 5, 6, 8, 20]))
    return h2.frame(kind, chance.choice([0, 1, 1, 3, 5, 7, 2]), payload, chance.randrange(256))


def sound_frames(chance, stream):
    """One step of a conversation that keeps the rules."""
    fields = [("priority", f"u={chance.randrange(8)}")] if chance.random() < 0.3 else []
    return chance.choice([
        lambda: h2.get(stream, chance.choice(PATHS), fields=fields),
        lambda: h2.post(stream, chance.choice(UPLOADS), chance.randbytes(chance.randrange(3000))),
        lambda: h2.headers(stream, h2.block(h2.request(chance.choice(UPLOADS), "POST"))),
        lambda: h2.get(stream, chance.choice(PATHS)) + h2.rst_stream(stream),
        lambda: h2.get(stream) + h2.window_update(stream, chance.randrange(1, 1 << 20)),
        lambda: h2.ping(),
        lambda: h2.settings({"INITIAL_WINDOW_SIZE": chance.choice([0, 1, 65535, 1 << 20])}),
        lambda: h2.priority_update(stream, "u=1, i"),
        lambda: h2.window_update(0, chance.randrange(1, 1 << 20)),
    ])()


def test_random_frames(target):
    """Each alone, until the server has had enough; then a new connection."""
    chance = random.Random(2)
    with nothing_left_behind(target):
        for _ in range(400):
            with H2Client(target.ports[0], settings={}) as client:
                for stream in range(1, 2 * chance.randrange(1, 8), 2):
                    say(client, sound_frames(chance, stream))
                    say(client, random_frame(chance))
                swallow(client, 0.001)


def test_conversations_with_an_octet_changed(target):
    """What keeps the rules but for one to three octets, anywhere behind the preface."""
    chance = random.Random(3)
    with nothing_left_behind(target):
        for _ in range(400):
            octets = bytearray(b"".join(sound_frames(chance, stream) for stream in range(1, 17, 2)))
            for _ in range(chance.randrange(1, 4)):
                octets[chance.randrange(len(octets))] = chance.randrange(256)
            client = H2Client(target.ports[0])
            say(client, bytes(octets))
            swallow(client, 0.001)
            client.reset()  # a mere end, with windows shut, would be half of one


def test_random_octets_behind_the_preface(target):
    chance = random.Random(4)
    with nothing_left_behind(target):
        for _ in range(200):
            with H2Client(target.ports[0], start=False) as client:
                say(client, h2.PREFACE + chance.randbytes(chance.randrange(1, 300)))
                swallow(client, 0.001)


@pytest.mark.parametrize("way", [0, 1], ids=["clear", "tls"])
def test_sound_conversations_never_end_the_connection(target, way):
    """The same steps with nothing changed: the connection is still good for a request afterwards."""
    chance = random.Random(5 + way)
    for _ in range(40):
        with H2Client(target.ports[way], tls=bool(way)) as client:
            client.send(b"".join(sound_frames(chance, stream) for stream in range(1, 41, 2)))
            client.send(h2.get(41, "/204"))
            swallow(client, 0.02)
            client.send(h2.ping(b"finally!"))
            deadline = time.monotonic() + 10
            seen = b""
            while h2.ping(b"finally!", ack=True) not in seen:
                assert time.monotonic() < deadline, seen[-200:]
                assert client.poll.poll(5000) or way, "no answer"
                more = client.socket.recv(1 << 16)
                assert more, "the connection was ended"
                seen = seen[-100:] + more


# ---- clients that leave --------------------------------------------------------------------------

@pytest.mark.parametrize("way", [0, 1], ids=["clear", "tls"])
@pytest.mark.parametrize("leave", [H2Client.close, H2Client.reset], ids=["close", "reset"])
def test_clients_that_leave_at_any_octet(target, way, leave):
    chance = random.Random(7)
    octets = b"".join(sound_frames(chance, stream) for stream in range(1, 17, 2))
    with nothing_left_behind(target):
        for _ in range(100):
            client = H2Client(target.ports[way], tls=bool(way))
            say(client, octets[:chance.randrange(len(octets))])
            leave(client)


def test_a_half_close_ends_what_waits_for_a_window(target):
    """No window can be opened any more: such streams are dropped at once, the others are answered."""
    with H2Client(target.ports[0], settings={"INITIAL_WINDOW_SIZE": 10}) as client:
        client.send(h2.get(1, "/big?size=1000") + h2.get(3, "/slow?ms=200") + h2.get(5, "/slow?ms=200")
                    + h2.get(7, "/big?size=10"))
        client.wait_for(lambda reader: reader.stream(7).ended, "the end of stream 7")
        client.half_close()
        started = time.monotonic()
        client.wait_end()
        assert time.monotonic() - started < 3
        told = {number: str(stream) for number, stream in client.reader.streams.items()}
        assert told == {1: "200!+CANCEL", 3: "200", 5: "200", 7: "200"}


def test_a_half_close_frees_a_pool_thread(module_servers):
    server = module_servers.demo("--workers", "1", "--pool", "1")
    for _ in range(5):
        with H2Client(server.port) as client:
            client.send(h2.get(1, "/pool/sizer?size=10000000"))
            client.wait_for(lambda reader: len(reader.stream(1).body) == h2.WINDOW, "a window's worth")
    assert ask_once(server.port, h2.get(1, "/pool/ok"), timeout_s=5).body == b"Ok"


def test_clients_that_reset_within_large_answers(target):
    with nothing_left_behind(target):
        for _ in range(200):
            client = H2Client(target.ports[0], settings={"INITIAL_WINDOW_SIZE": h2.WINDOW_MAX})
            client.open_window(0, h2.WINDOW_MAX - h2.WINDOW)
            client.send(b"".join(h2.get(stream, "/big?size=100000000") for stream in (1, 3, 5)))
            client.receive(1)
            client.reset()


def test_uploads_that_are_reset_in_the_middle(target):
    """A hundred on each of ten connections that go on: neither windows nor memory are lost."""
    chance = random.Random(8)
    before = None
    for _ in range(10):
        with H2Client(target.ports[0]) as client:
            for stream in range(1, 200, 2):
                path = chance.choice(["/echo", "/echo-stream", "/noread"])
                client.send(h2.headers(stream, h2.block(h2.request(path, "POST"))) +
                            h2.data(stream, b"x" * 5000) + h2.rst_stream(stream))
                if stream % 40 == 1:
                    client.ping()
            assert client.ask(h2.post(201, "/echo", b"y" * 1000), 201).body == b"y" * 1000
        before = before or resident_bytes(target.pid)
    assert resident_bytes(target.pid) - before < 8 * MIB


@pytest.mark.release
def test_memory_does_not_grow_with_connections_that_came_and_went(servers):
    """On the release build: a sanitizer keeps what was freed."""
    target = servers.wire(preset="release", workers=2)

    def many_connections():
        for _ in range(200):
            with H2Client(target.port) as client:
                client.send(b"".join(h2.get(stream) for stream in range(1, 21, 2)))
                client.wait_over(*range(1, 21, 2))
    many_connections()
    before = resident_bytes(target.pid)
    for _ in range(3):
        many_connections()
    assert resident_bytes(target.pid) - before < 4 * MIB
