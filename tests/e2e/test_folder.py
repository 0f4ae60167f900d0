"""`rivulet serve DIR`: a folder over HTTP/1 and HTTP/2, and files that change while they are sent."""

import os
import socket
import subprocess
import time

import pytest

from support.client import ask_once, get
from support.server import program

MIB = 1 << 20


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    (tmp_path / "pub" / "sub").mkdir(parents=True)
    (tmp_path / "secret.txt").write_bytes(b"secret")
    (tmp_path / "pub" / "a.txt").write_bytes(b"0123456789")
    (tmp_path / "pub" / "large.bin").write_bytes(os.urandom(3 * MIB))
    return tmp_path / "pub"


def serve(servers, folder, *arguments):
    return servers.start([program("rivulet"), "serve", "--listen", "127.0.0.1:0", *arguments,
                          str(folder)])


def curl(*arguments):
    return subprocess.run(["curl", "--silent", "--show-error", "--noproxy", "*", *arguments],
                          capture_output=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("protocol", ["--http1.1", "--http2-prior-knowledge"])
def test_a_large_file_and_its_ranges_are_whole(servers, folder, protocol):
    server = serve(servers, folder)
    contents = (folder / "large.bin").read_bytes()
    url = f"http://127.0.0.1:{server.port}/large.bin"
    for _ in range(2):  # the second time from the cache
        assert curl(protocol, url) == contents
    assert curl(protocol, "--range", "1000000-2999999", url) == contents[1000000:3000000]
    parts = curl(protocol, "--range", "2000000-2999999,0-999999", url)
    first = parts.index(b"\r\n\r\n") + 4
    assert parts[first:first + 1000000] == contents[2000000:3000000]
    second = parts.index(b"\r\n\r\n", first + 1000000) + 4
    assert parts[second:second + 1000000] == contents[:1000000]


def test_what_is_served_can_be_chosen(servers, folder):
    (folder / ".hidden").write_bytes(b"dotted")
    os.symlink("../secret.txt", folder / "out.txt")
    plain = serve(servers, folder)
    open_ = serve(servers, folder, "--hidden", "--follow-links", "--no-listing")
    assert [ask_once(plain.port, get(path)).status for path in ("/", "/.hidden", "/out.txt")] == [
        200, 404, 404]
    assert [ask_once(open_.port, get(path)).status for path in ("/", "/.hidden", "/out.txt")] == [
        404, 200, 200]


def test_a_file_that_is_replaced_is_never_a_mixture(servers, folder):
    server = serve(servers, folder)
    size = 300000
    seen = set()
    ends = time.monotonic() + 1.5
    letter = 0
    while time.monotonic() < ends:
        new = folder / "new.tmp"
        new.write_bytes(bytes([ord("a") + letter % 26]) * size)
        new.rename(folder / "turned.txt")
        letter += 1
        for _ in range(5):
            body = ask_once(server.port, get("/turned.txt")).body
            assert len(body) == size and len(set(body)) == 1
            seen.add(body[0])
    assert len(seen) > 3


def test_a_file_that_is_cut_breaks_its_own_answer_only(servers, folder):
    server = serve(servers, folder)
    with open(folder / "cut.bin", "wb") as file:
        file.truncate(200 * MIB)
    with socket.create_connection(("127.0.0.1", server.port), 30) as slow:
        slow.sendall(get("/cut.bin"))
        assert slow.recv(1000)
        os.truncate(folder / "cut.bin", MIB)
        assert ask_once(server.port, get("/a.txt")).body == b"0123456789"
        slow.settimeout(30)
        got = 0
        try:
            while (octets := slow.recv(MIB)):
                got += len(octets)
        except ConnectionResetError:
            pass
        assert got < 200 * MIB
    time.sleep(0.2)
    assert len(ask_once(server.port, get("/cut.bin")).body) == MIB


def test_a_folder_that_is_not_there_is_named():
    result = subprocess.run([program("rivulet"), "serve", "/no/such/folder"], capture_output=True,
                            text=True, timeout=30, check=False)
    assert result.returncode == 2
    assert "/no/such/folder" in result.stderr
