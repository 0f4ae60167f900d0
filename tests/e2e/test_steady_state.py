"""What a kept connection costs in system calls: counted by strace, on the release build."""

import re
import shutil
import signal
import subprocess

import pytest

from support.client import Client, get
from support.server import Lines

pytestmark = [pytest.mark.release,
              pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here")]

CONNECTIONS = 10
REQUESTS_EACH = 500


@pytest.fixture
def traced(servers, tmp_path):
    """A server, and a function that runs `work(server)` and returns the calls it made by name."""
    server = servers.demo("--workers", "1", preset="release")

    def count(work):
        out = tmp_path / "calls"
        strace = subprocess.Popen(["strace", "-f", "-c", "-o", str(out), "-p", str(server.pid)],
                                  stderr=subprocess.PIPE, text=True)
        lines = Lines(strace.stderr)
        attached = lines.wait_for(lambda all: any("attached" in line for line in all), 20)
        if not attached:
            strace.kill()
            strace.wait()
            pytest.skip(f"strace cannot attach here: {lines.text}")
        try:
            work(server)
        finally:
            strace.send_signal(signal.SIGINT)
            strace.wait(30)
        return parse(out.read_text(encoding="ascii"))
    return count


def parse(summary):
    """Calls by name from the table that strace -c prints."""
    calls = {}
    for line in summary.splitlines():
        match = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line)
        if match and match.group(2) != "total":
            calls[match.group(2)] = int(match.group(1))
    assert calls, summary
    return calls


def keep_alive_run(server):
    clients = [Client(server.port, timeout_s=60) for _ in range(CONNECTIONS)]
    for _ in range(REQUESTS_EACH):
        for client in clients:
            client.send(get("/ok"))
        for client in clients:
            assert client.answer().body == b"Ok"
    # A call is counted when it returns, which may be after its answer has arrived here. The worker
    # does one thing after the other: with this answer everything before it has been counted.
    clients[0].send(get("/ok"))
    assert clients[0].answer().body == b"Ok"
    for client in clients:
        client.close()


def test_a_kept_connection_costs_one_receive_and_one_send_per_request(traced):
    calls = traced(keep_alive_run)
    requests = CONNECTIONS * REQUESTS_EACH
    assert calls.get("epoll_ctl", 0) <= CONNECTIONS + 5, calls
    sends = sum(calls.get(name, 0) for name in ("sendto", "sendmsg", "write", "writev"))
    receives = sum(calls.get(name, 0) for name in ("recvfrom", "recvmsg", "read", "readv"))
    assert requests <= sends <= requests * 1.02 + 50, calls
    assert requests <= receives <= requests * 1.02 + 100, calls


def test_pipelined_answers_leave_together(traced):
    def pipelined_run(server):
        with Client(server.port, timeout_s=60) as client:
            for _ in range(200):
                client.send(get("/ok") * 16)
                assert [client.answer().body for _ in range(16)] == [b"Ok"] * 16
    calls = traced(pipelined_run)
    sends = sum(calls.get(name, 0) for name in ("sendto", "sendmsg", "write", "writev"))
    assert sends <= 200 * 1.1 + 50, calls
    assert calls.get("epoll_ctl", 0) <= 6, calls


def test_a_kept_connection_maps_no_memory(traced):
    calls = traced(keep_alive_run)
    asked = sum(calls.get(name, 0) for name in ("mmap", "munmap", "brk", "madvise"))
    assert asked <= 20, calls
