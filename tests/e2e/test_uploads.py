"""Forms with files (examples/receive), and bodies that are files (examples/store), from real clients: whole,
in bounded memory, and gone with those who go."""

import hashlib
import os
import subprocess
import time

import pytest

from support.client import Client
from support.example import Example
from support.processes import Watched
from support.waiting import wait_until

LARGE = 200_000_000
GROWTH_MAX = 20_000_000
CURL = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "60"]
PROTOCOLS = pytest.mark.parametrize("protocol", ["--http1.1", "--http2-prior-knowledge"])


class Receiver(Example):
    """An example that takes files to a directory."""

    @property
    def directory(self):
        return self.arguments[0]

    def curl(self, path, *arguments, **options):
        result = subprocess.run([*CURL, *arguments, self.url(path)], capture_output=True, text=True,
                                check=True, **options)
        return result.stdout

    def post(self, *arguments):
        return self.curl("/receive", *arguments)

    def put(self, name, path, *arguments):
        """What it says, and the status behind it."""
        return self.curl(f"/{name}", "-T", path, "-w", "%{http_code}", *arguments)


@pytest.fixture
def start(tmp_path):
    """Starts an example."""
    started = []

    def begin(name, preset="asan"):
        started.append(Receiver(name, tmp_path, preset=preset))
        return started[-1]
    yield begin
    for one in started:
        one.stop()


@pytest.fixture
def receiver(start):
    return start("receive")


@pytest.fixture
def store(start):
    return start("store")


def make_file(path, length):
    block = os.urandom(1 << 20)
    with open(path, "wb") as file:
        while length > 0:
            length -= file.write(block[:length])
    return path


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@PROTOCOLS
def test_several_files_and_fields_of_curl(receiver, tmp_path_factory, protocol):
    folder = tmp_path_factory.mktemp("sent")
    sent = [make_file(folder / f"{length}", length) for length in (0, 1, 65536, 3_000_001)]
    arguments = [word for path in sent for word in ("-F", f"file=@{path}")]
    told = receiver.post(protocol, "-F", "who=Ada", *arguments)
    assert told.startswith("no file: 3 octets\n") and told.count("\n") == 5
    names = [line.split()[0] for line in told.splitlines()[1:]]
    assert receiver.files() == sorted(names)
    assert [digest(receiver.directory / name) for name in names] == [digest(path) for path in sent]


def wait_for_files(receiver, condition):
    wait_until(lambda: condition(receiver.files()), what="the files that should be there")


@PROTOCOLS
@pytest.mark.parametrize("example, option, path", [("receive", "-Ffile=@{}", "/receive"),
                                                   ("store", "-T{}", "/old")])
def test_a_client_that_goes_leaves_no_file(start, tmp_path_factory, protocol, example, option, path):
    receiver = start(example)
    sent = make_file(tmp_path_factory.mktemp("sent") / "large", LARGE)
    (receiver.directory / "old").write_bytes(b"old")
    with subprocess.Popen([*CURL, "--limit-rate", "20M", protocol,
                           option.format(sent), receiver.url(path)]) as client:
        wait_for_files(receiver, lambda files: len(files) == 2)
        assert receiver.files()[0].startswith(".upload-")
        client.kill()
    wait_for_files(receiver, lambda files: files == ["old"])
    assert (receiver.directory / "old").read_bytes() == b"old"


@PROTOCOLS
def test_a_file_is_put_and_replaced(store, tmp_path_factory, protocol):
    folder = tmp_path_factory.mktemp("sent")
    for length, status in [(0, 201), (3_000_001, 200), (1, 200), (65536, 200)]:
        sent = make_file(folder / "sent", length)
        assert store.put("it", sent, protocol) == f"it: {length} octets\n{status}"
        assert store.files() == ["it"] and digest(store.directory / "it") == digest(sent)
        assert subprocess.run([*CURL, protocol, store.url("/it")], capture_output=True,
                              check=True).stdout == sent.read_bytes()


def test_conditions_keep_one_from_replacing_what_he_has_not_seen(store, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sent")
    first, second = make_file(folder / "first", 1000), make_file(folder / "second", 2000)
    assert store.put("it", first, "-H", "If-None-Match: *").endswith("201")
    assert store.put("it", second, "-H", "If-None-Match: *").endswith("412")
    tag = store.curl("/it", "-o", "/dev/null", "-w", "%header{etag}")
    assert store.put("it", second, "-H", f"If-Match: {tag}").endswith("200")
    assert store.put("it", first, "-H", f"If-Match: {tag}").endswith("412")
    assert digest(store.directory / "it") == digest(second)


@PROTOCOLS
def test_a_length_need_not_be_known(store, protocol):
    told = store.curl("/it", protocol, "-T", "-", input="x" * 100_000)
    assert told == "it: 100000 octets\n"
    assert (store.directory / "it").read_bytes() == b"x" * 100_000


@PROTOCOLS
def test_two_at_once_of_one_name_are_not_mixed(store, tmp_path_factory, protocol):
    folder = tmp_path_factory.mktemp("sent")
    both = [make_file(folder / name, 20_000_000) for name in "ab"]
    clients = [subprocess.Popen([*CURL, "--limit-rate", "20M", protocol, "-T", path,
                                 store.url("/it")], stdout=subprocess.PIPE, text=True)
               for path in both]
    wait_for_files(store, lambda files: len(files) == 2)
    assert [client.communicate()[0] for client in clients] == ["it: 20000000 octets\n"] * 2
    assert store.files() == ["it"]
    assert digest(store.directory / "it") in [digest(path) for path in both]


@pytest.mark.parametrize("name, field, status", [
    ("..%2fx", "X: y", 400), ("x", "Content-Range: bytes 0-1/5", 400), ("x", "Content-Encoding: gzip", 415)])
def test_what_cannot_be_kept_is_refused(store, tmp_path_factory, name, field, status):
    sent = make_file(tmp_path_factory.mktemp("sent") / "sent", 100)
    assert store.put(name, sent, "-H", field, "--path-as-is").endswith(str(status))
    assert store.files() == []


def test_what_will_be_too_long_is_refused_before_it_is_sent(store):
    with Client(store.port) as client:
        client.send(b"PUT /x HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1073741825\r\n\r\n")
        assert client.answer().status == 413
    assert store.files() == []


def test_a_directory_that_is_gone_is_a_500_and_the_server_goes_on(store, tmp_path_factory):
    sent = make_file(tmp_path_factory.mktemp("sent") / "sent", 100)
    os.rmdir(store.directory)
    assert store.put("x", sent).endswith("500")
    os.mkdir(store.directory)
    assert store.put("x", sent).endswith("201")


def test_a_body_that_is_no_form_is_415(receiver):
    told = receiver.post("-d", "a=b", "-o", "/dev/null", "-w", "%{http_code}")
    assert told == "415"


@pytest.mark.release
@pytest.mark.parametrize("example, option, field, path", [
    ("receive", "-Ffile=@{}", "X: y", "/receive"), ("store", "-T{}", "X: y", "/it"),
    ("store", "-T{}", "Transfer-Encoding: chunked", "/it")])
@PROTOCOLS
def test_a_large_file_in_constant_memory(start, tmp_path_factory, protocol, example, option, field, path):
    receiver = start(example, "release")
    sent = make_file(tmp_path_factory.mktemp("sent") / "large", LARGE)
    receiver.curl(path, option.format("/dev/null"))
    with Watched(receiver.process.pid) as memory:
        began = time.monotonic()
        told = receiver.curl(path, protocol, "-H", field, option.format(sent))
        assert time.monotonic() - began < 30
    assert told.endswith(f" {LARGE} octets\n")
    assert digest(receiver.directory / told.split()[0].rstrip(":")) == digest(sent)
    assert 0 < memory.growth < GROWTH_MAX, f"{memory.growth} octets more"
