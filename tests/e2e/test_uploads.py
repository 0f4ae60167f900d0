"""Forms with files from real clients, taken by examples/receive: whole, in bounded memory, and gone with
those who go."""

import hashlib
import os
import socket
import subprocess
import threading
import time

import pytest

from support.processes import resident_bytes
from support.server import program, sanitizer_environment

LARGE = 200_000_000
GROWTH_MAX = 20_000_000


class Receiver:
    """examples/receive on a free port, with a directory."""

    def __init__(self, directory, preset):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.directory = directory
        self.process = subprocess.Popen(
            [program("examples/receive", preset), f"127.0.0.1:{self.port}", str(directory)],
            env=sanitizer_environment(), stderr=subprocess.PIPE)
        self.connect().close()

    def connect(self):
        for _ in range(500):
            try:
                return socket.create_connection(("127.0.0.1", self.port), timeout=10)
            except ConnectionRefusedError:
                time.sleep(0.02)
        raise AssertionError("examples/receive does not listen")

    def files(self):
        return sorted(os.listdir(self.directory))

    def post(self, *arguments):
        result = subprocess.run(
            ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "60", *arguments,
             f"http://127.0.0.1:{self.port}/receive"], capture_output=True, text=True, check=True)
        return result.stdout

    def stop(self):
        self.process.terminate()
        report = self.process.communicate(timeout=30)[1].decode()
        assert self.process.returncode == 0, report


@pytest.fixture
def receiver(tmp_path, request):
    started = Receiver(tmp_path, getattr(request, "param", "asan"))
    yield started
    started.stop()


def make_file(path, length):
    block = os.urandom(1 << 20)
    with open(path, "wb") as file:
        while length > 0:
            length -= file.write(block[:length])
    return path


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@pytest.mark.parametrize("protocol", ["--http1.1", "--http2-prior-knowledge"])
def test_several_files_and_fields_of_curl(receiver, tmp_path_factory, protocol):
    folder = tmp_path_factory.mktemp("sent")
    sent = [make_file(folder / f"{length}", length) for length in (0, 1, 65536, 3_000_001)]
    arguments = [word for path in sent for word in ("-F", f"file=@{path}")]
    told = receiver.post(protocol, "-F", "who=Ada", *arguments)
    assert told.startswith("no file: 3 octets\n") and told.count("\n") == 5
    names = [line.split()[0] for line in told.splitlines()[1:]]
    assert receiver.files() == sorted(names)
    assert [digest(receiver.directory / name) for name in names] == [digest(path) for path in sent]


@pytest.mark.parametrize("protocol", ["--http1.1", "--http2-prior-knowledge"])
def test_a_client_that_goes_leaves_no_file(receiver, tmp_path_factory, protocol):
    sent = make_file(tmp_path_factory.mktemp("sent") / "large", LARGE)
    with subprocess.Popen(["curl", "--silent", "--noproxy", "*", "--limit-rate", "20M", protocol, "-F",
                           f"file=@{sent}", f"http://127.0.0.1:{receiver.port}/receive"]) as client:
        for _ in range(500):
            if receiver.files():
                break
            time.sleep(0.02)
        assert [name.startswith(".upload-") for name in receiver.files()] == [True]
        client.kill()
    for _ in range(500):
        if not receiver.files():
            break
        time.sleep(0.02)
    assert receiver.files() == []


def test_a_body_that_is_no_form_is_415(receiver):
    told = receiver.post("-d", "a=b", "-o", "/dev/null", "-w", "%{http_code}")
    assert told == "415"


@pytest.mark.release
@pytest.mark.parametrize("receiver", ["release"], indirect=True)
@pytest.mark.parametrize("protocol", ["--http1.1", "--http2-prior-knowledge"])
def test_a_large_file_in_constant_memory(receiver, tmp_path_factory, protocol):
    sent = make_file(tmp_path_factory.mktemp("sent") / "large", LARGE)
    receiver.post("-F", "who=Ada")
    before, highest, over = resident_bytes(receiver.process.pid), [0], threading.Event()

    def watch():
        while not over.wait(0.02):
            highest[0] = max(highest[0], resident_bytes(receiver.process.pid))
    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.monotonic()
    try:
        told = receiver.post(protocol, "-F", f"file=@{sent}")
    finally:
        over.set()
        watcher.join()
    assert time.monotonic() - began < 30
    assert told.endswith(f" {LARGE} octets\n")
    assert digest(receiver.directory / told.split()[0]) == digest(sent)
    assert 0 < highest[0] - before < GROWTH_MAX, f"{highest[0] - before} octets more"
