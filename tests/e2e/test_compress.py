"""`rivulet serve --compress`: what real clients decode, over HTTP/1 and HTTP/2, and what a client that
reads slowly costs."""

import socket
import subprocess
import threading
import time
import zlib

import pytest

from support.client import Client, get
from support.processes import resident_bytes
from support.server import program

MIB = 1 << 20
LINES = b"".join(b"line %d of the text, %d\n" % (i, i * 2654435761 % 100000)
                 for i in range(100000))


@pytest.fixture(name="folder", scope="module")
def make_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compress")
    (folder / "page.html").write_bytes(LINES[:20000])
    (folder / "long.txt").write_bytes(LINES)
    (folder / "small.txt").write_bytes(b"small")
    with open(folder / "large.txt", "wb") as large:
        for i in range(30):
            large.write(LINES.replace(b"text", b"%04d" % i))
    return folder


@pytest.fixture(name="server", scope="module")
def start(module_servers, folder):
    return module_servers.start([program("rivulet"), "serve", "--compress", "--workers", "1",
                                 "--listen", "127.0.0.1:0", str(folder)])


def curl(*arguments):
    return subprocess.run(["curl", "--silent", "--show-error", "--noproxy", "*", *arguments],
                          capture_output=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("protocol", ["--http1.0", "--http1.1", "--http2-prior-knowledge"])
@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "identity"])
def test_curl_decodes_what_it_gets(server, folder, protocol, coding):
    for name in ("page.html", "long.txt"):
        head = folder / f"head{protocol}-{coding}"
        content = curl(protocol, "--compressed", "--header", f"Accept-Encoding: {coding}",
                       "--dump-header", str(head), server.url(f"/{name}"))
        fields = head.read_text().lower()
        head.unlink()
        assert content == (folder / name).read_bytes()
        assert ("content-encoding: " + coding in fields) == (coding != "identity")
        assert fields.count("vary: accept-encoding") == 1


def test_zlib_decodes_answers_one_after_another(server):
    with Client(server.port) as client:
        for _ in range(3):
            answer = client.ask(get("/page.html", "Accept-Encoding: gzip\r\n"))
            assert answer.fields.get("Content-Encoding") == "gzip"
            assert int(answer.fields.get("Content-Length")) == len(answer.body)
            assert zlib.decompress(answer.body, 31) == LINES[:20000]
        answer = client.ask(get("/small.txt", "Accept-Encoding: gzip\r\n"))
        assert answer.body == b"small" and answer.fields.get("Vary") is None


def test_a_tag_of_a_compressed_page_comes_back_as_a_304(server):
    with Client(server.port) as client:
        fields = "Accept-Encoding: gzip\r\n"
        tag = client.ask(get("/page.html", fields)).fields.get("ETag")
        assert tag.startswith('W/"')
        answer = client.ask(get("/page.html", fields + f"If-None-Match: {tag}\r\n"))
        assert (answer.status, answer.body) == (304, b"")
        assert answer.fields.get("ETag") == tag and answer.fields.get("Vary") == "Accept-Encoding"


def test_slow_readers_cost_no_more_than_the_high_water_mark(servers, folder):
    """80 MB of text for each of 8 clients that do not read, and one that does meanwhile."""
    server = servers.start([program("rivulet"), "serve", "--compress", "--workers", "1",
                            "--listen", "127.0.0.1:0", str(folder)])
    curl("--compressed", server.url("/long.txt"))
    before = resident_bytes(server.pid)
    lazy = []
    for _ in range(8):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", server.port))
        client.sendall(get("/large.txt", "Accept-Encoding: gzip\r\n"))
        lazy.append(client)
    started = time.monotonic()
    assert curl("--compressed", server.url("/long.txt")) == LINES
    assert time.monotonic() - started < 20
    time.sleep(0.5)
    assert resident_bytes(server.pid) - before < 24 * MIB
    for client in lazy:
        client.close()


def test_many_clients_on_two_workers_get_what_they_asked_for(servers, folder):
    """Under ThreadSanitizer."""
    server = servers.start([program("rivulet", "tsan"), "serve", "--compress", "--workers", "2",
                            "--listen", "127.0.0.1:0", str(folder)])
    failures = []

    def ask(coding):
        for _ in range(5):
            content = curl("--compressed", "--header", f"Accept-Encoding: {coding}",
                           server.url("/page.html"), server.url("/long.txt"))
            if content != LINES[:20000] + LINES:
                failures.append(coding)

    threads = [threading.Thread(target=ask, args=(coding,))
               for coding in ("gzip", "br", "zstd", "gzip")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
