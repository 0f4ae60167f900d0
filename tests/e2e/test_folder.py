"""`rivulet serve DIR`: a folder over HTTP/1 and HTTP/2, and files that change while they are sent."""

import os
import socket
import subprocess
import time

import pytest

from support.client import Client, ask_once, get
from support.processes import cpu_s
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


def everything(client, most):
    """What comes until the connection ends, or stays silent for too long; at most so much of it."""
    client.settimeout(30)
    octets = b""
    try:
        while len(octets) < most and (piece := client.recv(MIB)):
            octets += piece
    except ConnectionResetError:
        pass
    return octets


def is_idle(server, seconds=0.5):
    before = cpu_s(server.pid)
    time.sleep(seconds)
    return cpu_s(server.pid) - before < seconds / 4


def test_a_file_that_is_cut_breaks_its_own_answer_only(servers, folder):
    server = serve(servers, folder)
    with open(folder / "cut.bin", "wb") as file:
        file.truncate(200 * MIB)
    with socket.create_connection(("127.0.0.1", server.port), 30) as slow:
        slow.sendall(get("/cut.bin") + get("/a.txt"))  # the second must not be taken for the first
        assert slow.recv(1000)
        os.truncate(folder / "cut.bin", MIB)
        assert ask_once(server.port, get("/a.txt")).body == b"0123456789"
        octets = everything(slow, 200 * MIB)
        assert len(octets) < 200 * MIB
        assert b"HTTP/1.1" not in octets and b"0123456789" not in octets
    assert is_idle(server)
    time.sleep(0.2)
    assert len(ask_once(server.port, get("/cut.bin")).body) == MIB


def shorter_than_said():
    """A file of the kernel's whose size is said to be larger than what can be read of it."""
    for top, _, names in os.walk("/sys/kernel"):
        for name in names:
            path = os.path.join(top, name)
            try:
                with open(path, "rb") as file:
                    length = len(file.read())
                    if 0 < length < os.fstat(file.fileno()).st_size:
                        return top, name
            except OSError:
                continue
    return None


def test_a_file_that_is_shorter_than_it_says_is_not_sent_and_no_work(servers):
    found = shorter_than_said()
    if found is None:
        pytest.skip("the kernel has no such file here")
    top, name = found
    server = serve(servers, top)
    with Client(server.port) as client:
        client.send(get("/" + name) * 2)
        assert [client.answer().status for _ in range(2)] == [503, 503]
    assert is_idle(server)
    assert ask_once(server.port, get("/no-such")).status == 404


def test_a_file_that_grows_is_answered_whole_each_time(servers, folder):
    server = serve(servers, folder, "--workers", "1")  # each has a cache of its own
    contents = b"first"
    (folder / "log.txt").write_bytes(contents)
    for number in range(30):
        answer = ask_once(server.port, get("/log.txt"))
        assert answer.status == 200 and answer.whole
        assert contents.startswith(answer.body)  # perhaps as it was, but never a part of a line
        more = b"%d" % number * 1000
        with open(folder / "log.txt", "ab") as file:
            file.write(more)
        contents += more
        again = ask_once(server.port, get("/log.txt"))
        assert contents.startswith(again.body) and len(again.body) >= len(answer.body)
    time.sleep(0.2)
    assert ask_once(server.port, get("/log.txt")).body == contents


def test_a_folder_that_is_not_there_is_named():
    result = subprocess.run([program("rivulet"), "serve", "/no/such/folder"], capture_output=True,
                            text=True, timeout=30, check=False)
    assert result.returncode == 2
    assert "/no/such/folder" in result.stderr
