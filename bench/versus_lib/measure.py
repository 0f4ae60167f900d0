"""The instruments: CPU time and memory of a process tree, wrk, and thousands of idle clients.

Owns every process it starts until that process has ended: whatever happens, `end_all()` leaves
nothing running. Knows how to run and read, not what for.
"""

import os
import re
import resource
import select
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from .machine import Unavailable, busy_seconds, find_program, last_line

START_SECONDS_MAX = 5
STOP_SECONDS_MAX = 8
SETTLE_SECONDS = 0.3  # after a run, until the server has closed what the client has left

_started = []  # Popen of everything that has not been ended yet


def start(command, **options):
    """A process in a group of its own: Ctrl-C reaches only us, and the group can be ended whole."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)
    _started.append(process)
    return process


def end(process):
    """Asks, waits, then insists; always by process id."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)  # what is left of its group, if anything
    except ProcessLookupError:
        pass
    process.wait()
    if process in _started:
        _started.remove(process)


def end_all():
    for process in _started:
        if process.poll() is None:
            process.terminate()
    for process in list(_started):
        end(process)


# ---- process trees -------------------------------------------------------------------------------


def process_tree(pid):
    """pid and all its descendants."""
    parent_of = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # the name in brackets may hold anything, so the fields are counted behind it
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parent_of[int(entry.name)] = int(fields[1])
    tree = {pid}
    grown = True
    while grown:
        found = {child for child, parent in parent_of.items() if parent in tree} - tree
        tree |= found
        grown = bool(found)
    return tree


def cpu_ns_by_thread(pid):
    """User and system time of each thread of the tree, in nanoseconds, as the scheduler counts."""
    spent = {}
    for member in process_tree(pid):
        try:
            for task in Path(f"/proc/{member}/task").iterdir():
                spent[int(task.name)] = int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return spent


def memory_bytes(pid):
    """Resident memory of the tree: all of it, and the anonymous part (heap, stacks)."""
    totals = {"VmRSS": 0, "RssAnon": 0}
    for member in process_tree(pid):
        try:
            status = Path(f"/proc/{member}/status").read_text()
        except OSError:
            continue
        for name in totals:
            found = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
            totals[name] += int(found.group(1)) * 1024 if found else 0
    return {"rss": totals["VmRSS"], "anonymous": totals["RssAnon"]}


# ---- a running server ----------------------------------------------------------------------------


def fetch_ok(port, close):
    """One GET /ok as wrk sends it; returns the length of the whole response or raises Unavailable."""
    extra = "Connection: close\r\n" if close else ""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as client:
        client.sendall(f"GET /ok HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{extra}\r\n".encode())
        response = b""
        while not response.endswith(b"\r\n\r\nOk"):
            block = client.recv(65536)
            if not block:
                break
            response += block
        if close and not select.select([client], [], [], 1)[0]:
            raise Unavailable("it leaves the connection open that it was asked to close")
    status, _, rest = response.partition(b"\r\n")
    if b" 200" not in status or not rest.endswith(b"\r\n\r\nOk"):
        raise Unavailable(f"GET /ok is not answered with 200 and `Ok` but with {response[:80]!r}")
    return len(response)


class Running:
    """A server under measurement."""

    def __init__(self, command, cpus, port, case, errors_path):
        self.command = ["taskset", "-c", cpus, *command]
        self.port = port
        with open(errors_path, "wb") as errors:
            self.process = start(self.command, stdout=subprocess.DEVNULL, stderr=errors)
        try:
            # a block is answered `pipelined` times by the floor, so the length is for one request
            self.response_bytes = self._wait_until_it_answers(case, errors_path)
        except BaseException:
            end(self.process)
            raise

    def _wait_until_it_answers(self, case, errors_path):
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            if not self.alive():
                complaint = last_line(errors_path.read_text(errors="replace"))
                raise Unavailable(f"it ended at once with status {self.process.returncode}: "
                                  f"{complaint}")
            try:
                return fetch_ok(self.port, case.close)
            except OSError as problem:
                if time.monotonic() > deadline:
                    waited = f"no answer within {START_SECONDS_MAX} s: {problem}"
                    raise Unavailable(waited) from None
                time.sleep(0.05)

    def alive(self):
        return self.process.poll() is None

    def cpu_ns_by_thread(self):
        return cpu_ns_by_thread(self.process.pid)

    def memory_bytes(self):
        return memory_bytes(self.process.pid)

    def end(self):
        end(self.process)


# ---- wrk -----------------------------------------------------------------------------------------


@dataclass
class Run:
    """One run of wrk against one server, and what the server spent on it."""

    command: list
    requests: int = 0
    seconds: float = 0.0
    server_cpu_ns: int = 0
    server_cpu_ns_by_thread: list = field(default_factory=list)  # the busiest first
    client_cpu_seconds: float = 0.0
    rss_bytes: int = 0
    others_cores: float = 0.0  # what else ran on the cores of the run, in cores
    errors: dict = field(default_factory=dict)  # of wrk: connect, read, write, timeout, status
    failed: str = ""  # why there is no result at all

    @property
    def cpu_us_per_request(self):
        return self.server_cpu_ns / 1000 / self.requests

    @property
    def requests_per_second(self):
        return self.requests / self.seconds

    @property
    def server_cores(self):
        return self.server_cpu_ns / 1e9 / self.seconds

    @property
    def had_errors(self):
        return any(self.errors.values())


def read_wrk(output):
    """Requests, seconds and errors from wrk's report; ValueError if it is none."""
    done = re.search(r"(\d+) requests in ([\d.]+)(us|ms|s|m|h),", output)
    if not done:
        raise ValueError(f"wrk gave no result: {last_line(output)}")
    unit_seconds = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}[done.group(3)]
    errors = {"connect": 0, "read": 0, "write": 0, "timeout": 0, "status": 0}
    socket_errors = re.search(r"Socket errors: (.*)", output)
    if socket_errors:
        for name, count in re.findall(r"(\w+) (\d+)", socket_errors.group(1)):
            errors[name] = int(count)
    status_errors = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    if status_errors:
        errors["status"] = int(status_errors.group(1))
    return int(done.group(1)), float(done.group(2)) * unit_seconds, errors


def wrk_command(case, port, seconds):
    command = ["taskset", "-c", case.client_cpus, "wrk", f"-t{case.client_threads}",
               f"-c{case.connections}", f"-d{seconds}s", "--timeout", "20s"]
    if case.close:
        command += ["-H", "Connection: close"]
    if case.pipelined > 1:
        command += ["-s", str(Path(__file__).resolve().parent.parent / "pipeline.lua")]
    command.append(f"http://127.0.0.1:{port}/ok")
    if case.pipelined > 1:
        command += ["--", str(case.pipelined)]
    return command


def run_wrk(case, server, seconds):
    """One run; whatever goes wrong is in the result, not raised."""
    run = Run(wrk_command(case, server.port, seconds))
    cores = set(f"{case.server_cpus},{case.client_cpus}".split(","))
    before = server.cpu_ns_by_thread()
    client_before = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy_before, clock_before = busy_seconds(cores), time.monotonic()
    wrk = start(run.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output, _ = wrk.communicate()
    end(wrk)
    run.rss_bytes = server.memory_bytes()["rss"]
    time.sleep(SETTLE_SECONDS)
    busy, clock = busy_seconds(cores) - busy_before, time.monotonic() - clock_before
    client = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not server.alive():
        run.failed = "the server died during the run"
        return run
    after = server.cpu_ns_by_thread()
    try:
        run.requests, run.seconds, run.errors = read_wrk(output)
    except ValueError as problem:
        run.failed = str(problem)
        return run
    if run.requests == 0:
        run.failed = "wrk had no request answered"
        return run
    spent = [after[thread] - before.get(thread, 0) for thread in after]
    run.server_cpu_ns_by_thread = sorted((ns for ns in spent if ns > 0), reverse=True)
    run.server_cpu_ns = sum(run.server_cpu_ns_by_thread)
    run.client_cpu_seconds = (client.ru_utime + client.ru_stime
                              - client_before.ru_utime - client_before.ru_stime)
    ours = run.server_cpu_ns / 1e9 + run.client_cpu_seconds
    run.others_cores = max(0.0, (busy - ours) / clock)
    return run


# ---- idle clients --------------------------------------------------------------------------------


@dataclass
class IdleRun:
    """Memory of a fresh server before and while it holds connections that have asked once."""

    connections: int = 0
    before: dict = field(default_factory=dict)
    after: dict = field(default_factory=dict)
    closed_by_server: int = 0
    failed: str = ""

    @property
    def rss_bytes_per_connection(self):
        return (self.after["rss"] - self.before["rss"]) / self.connections

    @property
    def anonymous_bytes_per_connection(self):
        return (self.after["anonymous"] - self.before["anonymous"]) / self.connections

    @property
    def had_errors(self):
        return self.closed_by_server > 0


WARM_UP_CONNECTIONS = 64
CONNECTIONS_PER_SOURCE_ADDRESS = 5000  # far from the ephemeral ports of one address


def open_idle_client(port, number):
    """A connection that has had one answer. Its close is a reset: no TIME_WAIT is left behind."""
    client = socket.socket()
    try:
        client.settimeout(5)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        source = 2 + number // CONNECTIONS_PER_SOURCE_ADDRESS
        client.bind((f"127.0.0.{source}", 0))
        client.connect(("127.0.0.1", port))
        client.sendall(f"GET /ok HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        response = b""
        while not response.endswith(b"\r\n\r\nOk"):
            block = client.recv(4096)
            if not block:
                raise ConnectionError("closed instead of answered")
            response += block
        return client
    except BaseException:
        client.close()
        raise


def count_closed(clients):
    """How many of these the server has closed or written to since."""
    poll = select.poll()
    for client in clients:
        poll.register(client, select.POLLIN | select.POLLRDHUP)
    return len(poll.poll(0))


def run_idle(server, connections):
    run = IdleRun()
    clients = []
    try:
        for number in range(WARM_UP_CONNECTIONS):  # code and tables of the server come in first
            clients.append(open_idle_client(server.port, number))
        while clients:
            clients.pop().close()
        time.sleep(SETTLE_SECONDS)
        run.before = server.memory_bytes()
        for number in range(connections):
            clients.append(open_idle_client(server.port, number))
        time.sleep(2 * SETTLE_SECONDS)
        run.after = server.memory_bytes()
        run.connections = len(clients)
        run.closed_by_server = count_closed(clients)
    except OSError as problem:
        run.failed = f"connection {len(clients) + 1} of {connections}: {problem}"
    finally:
        for client in clients:
            client.close()
    if not server.alive():
        run.failed = "the server died during the run"
    return run


def wrk_version():
    if find_program("wrk") is None or find_program("taskset") is None:
        raise Unavailable("wrk and taskset are needed and not installed")
    done = subprocess.run(["wrk", "-v"], capture_output=True, text=True)
    return (done.stdout + done.stderr).splitlines()[0].split()[1]
