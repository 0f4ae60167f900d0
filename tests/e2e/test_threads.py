"""Handlers on the pool and answers from other threads, under ThreadSanitizer: no data races.

The reports are looked for when each server is stopped (support/server.py).
"""

import concurrent.futures
import random
import time

import pytest

from support.client import GET, Client, ask_once, get, post

pytestmark = pytest.mark.tsan

PATHS = ("/pool", "/pool?ms=2", "/deferred?ms=2", "/deferred", "/slow?ms=2", "/", "/stream",
         "/big?size=300000", "/counters")


@pytest.fixture
def server(servers):
    return servers.wire("tsan", workers=2, pool=4)


def side_by_side(work, threads=16, times=400):
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(times)))


def test_requests_that_are_answered_by_other_threads(server):
    def ask(seed):
        chance = random.Random(seed)
        with Client(server.port, timeout_s=30) as client:
            for _ in range(5):
                assert client.ask(get(chance.choice(PATHS))).status == 200
    side_by_side(ask)


def test_clients_that_leave_before_another_thread_answers(server):
    def leave(seed):
        chance = random.Random(seed)
        client = Client(server.port, timeout_s=30)
        client.send(get(chance.choice(["/pool?ms=3", "/deferred?ms=3", "/slow?ms=3"])))
        time.sleep(chance.choice([0, 0.002, 0.004]))
        if chance.random() < 0.5:
            client.reset()
        else:
            client.close()
    side_by_side(leave, times=1000)
    assert ask_once(server.port).status == 200


def test_pipelined_requests_of_both_kinds(server):
    def pipeline(_):
        with Client(server.port, timeout_s=30) as client:
            client.send(get("/pool?ms=1") + get("/deferred?ms=1") + GET + get("/pool"))
            assert [client.answer().status for _ in range(4)] == [200] * 4
    side_by_side(pipeline, times=200)


def test_a_pool_that_is_full(servers):
    server = servers.wire("tsan", workers=2, pool=1, pool_queue_max=2)

    def ask(_):
        return ask_once(server.port, get("/pool?ms=5"), timeout_s=30).status
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        statuses = set(pool.map(ask, range(300)))
    assert statuses == {200, 503}


def test_connections_that_are_handed_over_between_workers(servers):
    server = servers.wire("tsan", workers=4)

    def ask(_):
        with Client(server.port, timeout_s=30) as client:
            for _ in range(3):
                assert client.ask(post("/echo", b"hello")).body == b"hello"
    side_by_side(ask, threads=32, times=600)


@pytest.mark.parametrize("path", ["/pool?ms=200", "/deferred?ms=200", "/slow?ms=200"])
def test_a_stop_while_other_threads_work(servers, path):
    for _ in range(3):
        server = servers.wire("tsan", workers=2, pool=4)
        clients = [Client(server.port, timeout_s=30) for _ in range(8)]
        for client in clients:
            client.send(get(path))
        time.sleep(0.1)
        server.signal()
        for client in clients[:4]:
            assert client.answer().status == 200
        for client in clients:
            client.close()
        server.stop()


def test_a_second_stop_while_other_threads_work(servers):
    server = servers.wire("tsan", workers=2, pool=2)
    clients = [Client(server.port) for _ in range(6)]
    for client, path in zip(clients, ["/pool?ms=700", "/deferred?ms=700", "/slow?ms=700"] * 2):
        client.send(get(path))
    time.sleep(0.2)
    server.signal()
    time.sleep(0.1)
    server.signal()
    server.stop()
    for client in clients:
        client.close()
