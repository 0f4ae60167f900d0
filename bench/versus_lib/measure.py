"""The instruments: a server under measurement, and one run of a client against it.

A run says what the server and the client have spent on it, whichever of the two is being compared.
"""

import contextlib
import http.client
import re
import select
import socket
import ssl
import time
import zlib
from dataclasses import dataclass, field

from . import processes
from .machine import Unavailable, busy_seconds, last_line

START_SECONDS_MAX = 5
SETTLE_SECONDS = 0.3  # after a run, until the server has closed what the client has left
OVERTIME_SECONDS_MAX = 60  # of a client, beyond the length of its run
COUNTED_SECONDS_MAX = 600  # of a run that is as long as its requests take


# ---- talking to a server ----------------------------------------------------------------------------


TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TLS.check_hostname = False
TLS.verify_mode = ssl.CERT_NONE
# The preface of HTTP/2 and empty SETTINGS.
H2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
TLS_OF_H2 = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TLS_OF_H2.check_hostname = False
TLS_OF_H2.verify_mode = ssl.CERT_NONE
TLS_OF_H2.set_alpn_protocols(["h2"])


def connect(port, tls):
    client = socket.create_connection(("127.0.0.1", port), timeout=2)
    try:
        return TLS.wrap_socket(client) if tls else client
    except BaseException:
        client.close()
        raise


def fetch_ok(port, close, tls):
    """One GET /ok as wrk sends it; returns the length of the whole response. Unavailable."""
    extra = "Connection: close\r\n" if close else ""
    with connect(port, tls) as client:
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


def probe_http2(port):
    """Prior knowledge: a server may speak nothing else on this port. Raises OSError, Unavailable."""
    with connect(port, tls=False) as client:
        client.sendall(H2_PREFACE)
        head = client.recv(9)
    if len(head) < 4 or head[3] != 4:
        raise Unavailable("it does not answer HTTP/2's preface with SETTINGS")
    return None  # how long a response is depends on those before it


def response_bytes(port, path, content_bytes, tls):
    """The length of the whole response to `path`, by its head. Unavailable if it is another one."""
    with connect(port, tls) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        response = b""
        while b"\r\n\r\n" not in response:
            block = client.recv(65536)
            if not block:
                break
            response += block
    head = response.partition(b"\r\n\r\n")[0]
    length = re.search(rb"^content-length: *(\d+)\r?$", head, re.MULTILINE | re.IGNORECASE)
    if b" 200" not in head[:16] or length is None or int(length.group(1)) != content_bytes:
        raise Unavailable(f"GET {path} is not answered with 200 and {content_bytes} bytes "
                          f"but with {head[:200]!r}")
    return len(head) + 4 + content_bytes


def check_gzip(port, path, content_bytes):
    """Whoever accepts gzip gets the page in it. Unavailable."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=2)) as client:
        client.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = client.getresponse()
        content = answer.read()
    coding = answer.getheader("Content-Encoding")
    if answer.status != 200 or coding != "gzip":
        raise Unavailable(f"GET {path} is answered with {answer.status} and the coding {coding}")
    page = zlib.decompress(content, 31)
    if len(page) != content_bytes:
        raise Unavailable(f"GET {path} has {len(page)} bytes, not {content_bytes}")
    return len(content)


# ---- a running server ----------------------------------------------------------------------------


class Running:
    """A server under measurement."""

    def __init__(self, command, cpus, port, case, errors_path):
        self.command = ["taskset", "-c", cpus, *command]
        self.port = port
        with open(errors_path, "wb") as errors:
            self.process = processes.start(self.command, stdout=processes.NOWHERE, stderr=errors)
        try:
            # a block is answered `pipelined` times by the floor, so the length is for one request
            self.response_bytes = self._wait_until_it_answers(case, errors_path)
        except BaseException:
            processes.end(self.process)
            raise

    def _wait_until_it_answers(self, case, errors_path):
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            if not self.alive():
                complaint = last_line(errors_path.read_text(errors="replace"))
                raise Unavailable(f"it ended at once with status {self.process.returncode}: "
                                  f"{complaint}")
            try:
                if case.streams and not case.tls:
                    return probe_http2(self.port)
                return fetch_ok(self.port, case.close, case.tls)
            except OSError as problem:
                if time.monotonic() > deadline:
                    waited = f"no answer within {START_SECONDS_MAX} s: {problem}"
                    raise Unavailable(waited) from None
                time.sleep(0.05)

    def alive(self):
        return self.process.poll() is None

    def cpu_ns_by_thread(self):
        return processes.cpu_ns_by_thread(self.process.pid)

    def memory_bytes(self):
        return processes.memory_bytes(self.process.pid)

    def end(self):
        processes.end(self.process)


# ---- one run of a client against a server --------------------------------------------------------


@dataclass
class Run:
    """What a client has had from a server, and what both have spent on it."""

    command: list
    content_bytes: int = 0  # of one response
    asked: int = 0  # requests it was to make; 0: as many as its time allowed
    requests: int = 0  # answered
    seconds: float = 0.0
    server_cpu_ns: int = 0
    server_cpu_ns_by_thread: list = field(default_factory=list)  # the busiest first
    client_cpu_seconds: float = 0.0
    rss_bytes: int = 0
    others_cores: float = 0.0  # what else ran on the cores of the run, in cores
    errors: dict = field(default_factory=dict)  # that the client reports, by kind
    latency_ms: dict = field(default_factory=dict)  # percentile -> milliseconds, 100 the longest
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
    def client_cores(self):
        return self.client_cpu_seconds / self.seconds

    @property
    def requests_per_client_cpu_second(self):
        return self.requests / self.client_cpu_seconds

    @property
    def client_cpu_us_per_request(self):
        return self.client_cpu_seconds * 1e6 / self.requests

    @property
    def gigabytes(self):
        """Of content, in whole answers."""
        return self.requests * self.content_bytes / 1e9

    @property
    def gigabytes_per_second(self):
        return self.gigabytes / self.seconds

    @property
    def gigabytes_per_client_cpu_second(self):
        return self.gigabytes / self.client_cpu_seconds

    @property
    def server_cpu_seconds_per_gigabyte(self):
        return self.server_cpu_ns / 1e9 / self.gigabytes

    @property
    def client_cpu_seconds_per_gigabyte(self):
        return self.client_cpu_seconds / self.gigabytes

    @property
    def p50_ms(self):
        return self.latency_ms[50]

    @property
    def p99_ms(self):
        return self.latency_ms[99]

    @property
    def longest_ms(self):
        return self.latency_ms[100]

    @property
    def p99_to_p50(self):
        return self.p99_ms / max(self.p50_ms, 0.5)  # 0 ms is less than half of one

    @property
    def not_answered(self):
        """Of the requests asked for, and what came otherwise than it should."""
        return max(0, self.asked - self.requests) + sum(self.errors.values())

    @property
    def had_errors(self):
        return any(self.errors.values()) or self.requests < self.asked


def run_client(client, load, case, server):
    """One run; whatever goes wrong is in the result, not raised."""
    run = Run(["taskset", "-c", case.client_cpus, *client.command(load)], case.content_bytes,
              load.requests)
    seconds_max = COUNTED_SECONDS_MAX if load.requests else load.seconds + OVERTIME_SECONDS_MAX
    cores = set(f"{case.server_cpus},{case.client_cpus}".split(","))
    before = server.cpu_ns_by_thread()
    busy_before, clock_before = busy_seconds(cores), time.monotonic()
    ended = processes.run_to_end(run.command, seconds_max)
    run.rss_bytes = server.memory_bytes()["rss"]
    time.sleep(SETTLE_SECONDS)
    busy, clock = busy_seconds(cores) - busy_before, time.monotonic() - clock_before
    run.failed = "" if server.alive() else "the server died during the run"
    after = server.cpu_ns_by_thread()
    report = None if run.failed else read_report(client, ended, run)
    if report is None:
        return run
    run.requests, run.seconds = report.answered, report.seconds
    run.errors, run.latency_ms = report.errors, report.latency_ms
    spent = [after[thread] - before.get(thread, 0) for thread in after]
    run.server_cpu_ns_by_thread = sorted((ns for ns in spent if ns > 0), reverse=True)
    run.server_cpu_ns = sum(run.server_cpu_ns_by_thread)
    run.client_cpu_seconds = ended.cpu_seconds
    ours = run.server_cpu_ns / 1e9 + run.client_cpu_seconds
    run.others_cores = max(0.0, (busy - ours) / clock)
    return run


def read_report(client, ended, run):
    """What the client says; None, and why in `run.failed`, if it is of no use."""
    said = last_line(ended.complaints or ended.output)
    if ended.status is None:
        run.failed = f"{client.name} did not end in time"
    elif ended.status != 0:
        run.failed = f"{client.name} ended with status {ended.status}: {said}"
    else:
        try:
            report = client.read(ended.output)
            if report.answered > 0 and report.seconds > 0 and ended.cpu_seconds > 0:
                return report
            run.failed = f"{client.name} had no request answered"
        except ValueError as problem:
            run.failed = f"{client.name}: {problem}"
    return None
