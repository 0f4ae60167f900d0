"""Streams of HTTP/2 answered by other threads, under ThreadSanitizer: no data races.

The reports are looked for when each server is stopped (support/server.py).
"""

import concurrent.futures
import random
import time

import pytest

from support import h2_frames as h2
from support.h2_client import H2Client, ask_once

pytestmark = pytest.mark.tsan

PATHS = ("/pool", "/pool?ms=2", "/deferred?ms=2", "/deferred", "/slow?ms=2", "/", "/stream",
         "/big?size=30000", "/counters")


@pytest.fixture
def server(servers):
    return servers.wire("tsan", workers=2, pool=4)


def side_by_side(work, threads=8, times=100):
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(times)))


def test_streams_that_are_answered_by_other_threads(server):
    def ask(seed):
        chance = random.Random(seed)
        streams = range(1, 41, 2)
        with H2Client(server.port, timeout_s=30, settings={"INITIAL_WINDOW_SIZE": 1 << 20}) as client:
            client.open_window(0, 1 << 24)
            client.send(b"".join(h2.get(stream, chance.choice(PATHS)) for stream in streams))
            client.wait_over(*streams)
            assert {client.reader.streams[stream].status for stream in streams} == {200}
    side_by_side(ask)


def test_streams_that_are_reset_before_another_thread_answers(server):
    def reset(seed):
        chance = random.Random(seed)
        with H2Client(server.port, timeout_s=30) as client:
            for stream in range(1, 61, 2):
                path = chance.choice(["/pool?ms=2", "/deferred?ms=2", "/slow?ms=2", "/pool"])
                client.send(h2.get(stream, path))
                if chance.random() < 0.3:
                    time.sleep(0.001)
                client.send(h2.rst_stream(stream))
            client.ping()
    side_by_side(reset)
    assert ask_once(server.port).status == 200


def test_connections_that_end_before_another_thread_answers(server):
    def leave(seed):
        chance = random.Random(seed)
        client = H2Client(server.port, timeout_s=30)
        client.send(b"".join(h2.get(stream, chance.choice(["/pool?ms=3", "/deferred?ms=3"]))
                             for stream in range(1, 21, 2)))
        time.sleep(chance.choice([0, 0.002, 0.004]))
        chance.choice([client.reset, client.close])()
    side_by_side(leave, times=300)
    assert ask_once(server.port).status == 200


def test_a_pool_thread_that_waits_for_windows(servers):
    """The demo's large answers of pool threads, their windows opened bit by bit or never."""
    server = servers.demo("--workers", "2", "--pool", "4", preset="tsan")

    def ask(seed):
        with H2Client(server.port, timeout_s=30, settings={"INITIAL_WINDOW_SIZE": 1000}) as client:
            client.send(h2.get(1, "/pool/sizer?size=3000000"))
            client.wait_for(lambda reader: reader.stream(1).body, "content")
            if seed % 2:
                return
            client.open_window(0, 1 << 24)
            for _ in range(30):
                client.open_window(1, 100000)
            assert len(client.wait_over(1).body) == 3000000
    side_by_side(ask, times=24)


def test_a_stop_while_other_threads_work(servers):
    for _ in range(3):
        server = servers.wire("tsan", workers=2, pool=4)
        clients = [H2Client(server.port, timeout_s=30) for _ in range(4)]
        for client in clients:
            client.send(b"".join(h2.get(stream, "/pool?ms=100") for stream in range(1, 9, 2)))
            client.ping()
        server.signal()
        clients.pop().reset()
        for client in clients:
            assert client.wait_end(30) == "NO_ERROR"
            assert all(client.reader.streams[stream].status == 200 for stream in range(1, 9, 2))
            client.close()
        assert server.wait() == 0
