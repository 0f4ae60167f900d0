"""Limits that HTTP/1 and HTTP/2 share, as they strike in HTTP/2: on one stream, or the whole connection."""

import concurrent.futures
import re
import time

import pytest

from support import client as h1
from support import h2_frames as h2
from support.h2_client import H2Client, ask_once


def counter(server, name):
    text = h1.ask_once(server.port, h1.get("/counters")).body.decode()
    return int(re.search(rf"^{name} (\d+)$", text, re.MULTILINE).group(1))


def test_a_connection_of_so_many_requests_ends_with_goaway(servers):
    server = servers.wire(requests_per_connection_max=3)
    with H2Client(server.port) as client:
        client.send(b"".join(h2.get(stream) for stream in (1, 3, 5)))
        client.wait_for(lambda reader: reader.goaways, "the announcement")
        ping = next(frame for frame in client.reader.frames
                    if frame.name == "PING" and not frame.has(h2.ACK))
        client.send(h2.ping(ping.payload, ack=True))
        assert client.wait_end() == "NO_ERROR"
        assert {str(stream) for stream in client.reader.streams.values()} == {"200"}
        assert client.reader.goaways[-1] == (5, "NO_ERROR")


@pytest.mark.parametrize("path", ["/echo", "/length-required"])
def test_a_body_that_says_that_it_is_too_large(servers, path):
    server = servers.wire(body_bytes_max=1000)
    with H2Client(server.port) as client:
        client.send(h2.headers(1, h2.block(h2.request(path, "POST", [("content-length", "1001")]))))
        assert str(client.wait_over(1)).startswith("413")
        assert client.ask(h2.post(3, path, b"x" * 1000, [("content-length", "1000")]), 3).status == 200
    assert counter(server, "body_too_large") == 1


def test_a_body_that_grows_too_large(servers):
    """Refused at the octet beyond; what still comes of it is nobody's, and the connection goes on."""
    server = servers.wire(body_bytes_max=1000)
    with H2Client(server.port) as client:
        client.send(h2.headers(1, h2.block(h2.request("/echo", "POST"))) +
                    h2.data(1, b"x" * 1000) + h2.data(1, b"y"))
        client.wait_for(lambda reader: reader.stream(1).status == 413, "413")
        client.send(h2.data(1, b"z" * 5000) + h2.data(1, b"", end=True))
        assert client.ask(h2.get(3), 3).status == 200
    assert counter(server, "body_too_large") == 1


def test_trailers_count_as_little_as_the_head_may(servers):
    server = servers.wire(head_fields_max=20)
    with H2Client(server.port) as client:
        client.send(h2.headers(1, h2.block(h2.request("/echo", "POST"))) + h2.data(1, b"x") +
                    h2.headers(1, h2.block([(f"x-{number}", "y") for number in range(30)]), end=True))
        assert str(client.wait_over(1)) == "ENHANCE_YOUR_CALM"
        assert client.ask(h2.get(3), 3).status == 200


@pytest.mark.parametrize("fields, status, name", [
    ([(f"x-{number}", "y") for number in range(30)], 431, "head_fields_too_many"),
    ([("x-a", "y" * 3000)], 431, "head_too_large"),
])
def test_a_head_that_is_too_large(servers, fields, status, name):
    server = servers.wire(head_fields_max=20, head_bytes_max=2000)
    with H2Client(server.port) as client:
        client.ping()
        assert client.reader.settings["MAX_HEADER_LIST_SIZE"] == 2000
        assert client.ask(h2.get(1, fields=fields)).status == status
        assert client.ask(h2.get(3), 3).status == 200
    assert counter(server, name) == 1


def test_a_target_that_is_too_long(servers):
    server = servers.wire(target_bytes_max=100)
    assert ask_once(server.port, h2.get(1, "/" + "a" * 100)).status == 414
    assert counter(server, "target_too_long") == 1


def test_fewer_streams_at_a_time(servers):
    server = servers.wire(h2_streams_max=2)
    with H2Client(server.port) as client:
        client.send(b"".join(h2.get(stream, "/slow?ms=200") for stream in (1, 3, 5)))
        client.wait_over(1, 3, 5)
        told = {number: str(stream) for number, stream in client.reader.streams.items()}
        assert told == {1: "200", 3: "200", 5: "REFUSED_STREAM"}
        assert client.reader.settings["MAX_CONCURRENT_STREAMS"] == 2
        client.acknowledge()
        assert client.ask(h2.get(7), 7).status == 200


def test_smaller_windows(servers):
    server = servers.wire(h2_stream_window_bytes=1000, h2_connection_window_bytes=70000)
    with H2Client(server.port) as client:
        client.ping()
        assert client.reader.settings["INITIAL_WINDOW_SIZE"] == 1000
        client.send(h2.headers(1, h2.block(h2.request("/echo", "POST"))))
        for _ in range(20):
            seen = len(client.reader.frames)
            client.send(h2.data(1, b"x" * 1000))
            client.wait_for(lambda reader, seen=seen: any(
                frame.name == "WINDOW_UPDATE" and frame.stream == 1
                for frame in reader.frames[seen:]), "room for more")
        client.send(h2.data(1, end=True))
        assert client.wait_over(1).body == b"x" * 20000


def close_when_told(clients):
    """What clients do: those that the server has finished with close, too. Returns how they ended."""
    ended = []
    for client in clients[:]:
        client.receive(0)
        if client.ended:
            ended.append(client.fate())
            client.close()
            clients.remove(client)
    return ended


def ask_while(clients, port):
    """One more connection asks while these are there; returns its status and how those ended."""
    ended = []
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(ask_once, port, timeout_s=15)
        while not asked.done():
            ended += close_when_told(clients)
            time.sleep(0.01)
    return asked.result().status, ended


def test_idle_connections_make_room(servers):
    """A connection at rest is told, not cut, when others want its place."""
    server = servers.wire(connections_max=4, workers=1)
    clients = [H2Client(server.port) for _ in range(4)]
    for client in clients:
        assert client.ask(h2.get(1)).status == 200
    status, ended = ask_while(clients, server.port)
    assert status == 200 and ended and set(ended) == {"NO_ERROR"}
    for client in clients:
        client.close()


def test_busy_connections_do_not(servers):
    server = servers.wire(connections_max=2, workers=1)
    clients = [H2Client(server.port) for _ in range(2)]
    for client in clients:
        client.send(h2.get(1, "/slow?ms=500"))
        client.ping()
    readers = [client.reader for client in clients]
    status, _ = ask_while(clients, server.port)
    assert status == 200
    assert [reader.streams[1].status for reader in readers] == [200, 200]
    for client in clients:
        client.close()
