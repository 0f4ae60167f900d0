"""Bodies of ten gigabytes in constant memory: the release build, watched while they pass."""

import contextlib
import threading
import time

import pytest

from support.client import Client, get
from support.processes import resident_bytes

pytestmark = [pytest.mark.slow, pytest.mark.release]

TEN_GB = 10_000_000_000
GROWTH_MAX = 20_000_000
BLOCK = 1 << 20


@contextlib.contextmanager
def constant_memory(server):
    """Fails when the server ever grows by more than GROWTH_MAX."""
    before, stop, highest = resident_bytes(server.pid), threading.Event(), [0]

    def watch():
        while not stop.wait(0.05):
            highest[0] = max(highest[0], resident_bytes(server.pid))
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert highest[0] > 0 and highest[0] - before < GROWTH_MAX, f"{highest[0] - before} octets more"


def drain(client, result):
    """Counts octets to the end of the connection; keeps the first and the last few."""
    buffer = bytearray(BLOCK)
    count, head, tail = 0, b"", b""
    while length := client.socket.recv_into(buffer):
        if len(head) < 1000:
            head += bytes(buffer[:min(length, 1000)])
        tail = (tail + bytes(buffer[max(0, length - 16):length]))[-16:]
        count += length
    result.update(count=count, head=head, tail=tail)


@pytest.fixture
def server(servers):
    started = servers.demo("--workers", "1", preset="release")
    with Client(started.port) as client:
        client.ask(get("/sizer?size=10000000"), timeout_s=30)
    return started


def test_a_download_of_ten_gigabytes(server):
    result = {}
    with constant_memory(server), Client(server.port, timeout_s=60) as client:
        client.send(get(f"/sizer?size={TEN_GB}", "Connection: close\r\n"))
        drain(client, result)
    head_length = result["head"].index(b"\r\n\r\n") + 4
    assert result["head"].startswith(b"HTTP/1.1 200 ")
    assert result["count"] == TEN_GB + head_length
    assert result["tail"] == b"X" * 16


def upload(server, fields, block, blocks, ending):
    """Sends the same block again and again while a thread takes the echo."""
    result = {}
    with Client(server.port, timeout_s=60) as client:
        client.send(get("/echo", fields + "Connection: close\r\n", "POST"))
        reader = threading.Thread(target=drain, args=(client, result))
        reader.start()
        for _ in range(blocks):
            client.send(block)
        client.send(ending)
        reader.join(60)
        assert not reader.is_alive()
    assert result["head"].startswith(b"HTTP/1.1 200 ")
    return result


def test_an_echo_of_ten_gigabytes_with_a_length(server):
    block = memoryview(b"y" * 1_000_000)
    with constant_memory(server):
        result = upload(server, f"Content-Length: {TEN_GB}\r\n", block, TEN_GB // len(block), b"")
    head_length = result["head"].index(b"\r\n\r\n") + 4
    assert result["count"] == TEN_GB + head_length
    assert f"Content-Length: {TEN_GB}".encode() in result["head"]


def test_an_echo_of_ten_gigabytes_in_chunks(server):
    block = memoryview(b"%x\r\n" % 1_000_000 + b"y" * 1_000_000 + b"\r\n")
    with constant_memory(server):
        result = upload(server, "Transfer-Encoding: chunked\r\n", block, TEN_GB // 1_000_000,
                        b"0\r\n\r\n")
    assert TEN_GB < result["count"] < TEN_GB * 1.01
    assert result["tail"].endswith(b"\r\n0\r\n\r\n")
    assert b"Transfer-Encoding: chunked" in result["head"]


def test_many_downloads_at_once_share_their_page(servers):
    """Fifty clients of a gigabyte each, which take only the beginning."""
    server = servers.demo("--workers", "1", preset="release")
    with Client(server.port) as client:
        client.ask(get("/sizer?size=10000000"), timeout_s=30)
    with constant_memory(server):
        clients = [Client(server.port, receive_buffer=65536) for _ in range(50)]
        for client in clients:
            client.send(get("/sizer?size=1000000000"))
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            for client in clients:
                client.receive(0)
                client.pending = b""
        for client in clients:
            client.close()
