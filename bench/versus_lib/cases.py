"""The loads as data, and what comes of them: one `CaseResult` of rows of runs for each case.

Either servers are compared, which take turns under the same client, or clients, which take turns at
the same server. How they do so is in server_turns.py and client_turns.py; judging and printing what
comes of it is others' work.
"""

import statistics
from dataclasses import dataclass, field
from pathlib import Path

CLIENT_KINDS = ("client", "bulk", "storm")
TLS_SERVERS = ("rivulet", "nginx", "h2o")


@dataclass(frozen=True)
class Case:
    name: str
    target: str  # its number in the design's table
    title: str
    connections: int
    pipelined: int = 1
    close: bool = False
    tls: bool = False
    streams: int = 0  # of HTTP/2 on each connection; 0: HTTP/1
    content_bytes: int = 2  # of a response
    files: bool = False  # it is a file's, from all servers
    gzip: bool = False  # it is a page of text, and clients ask for it compressed
    requests: int = 0  # of a run; 0: it is timed
    server_cpus: str = "0"
    client_cpus: str = "1"
    client_threads: int = 1
    length_factor: int = 1  # runs are so many times --seconds
    # Servers compared by CPU time: load (per request), big (per GB); rivulet alone: workers (one and
    # two), sessions (without and with them), routes (one and 1000); idle: by memory. Clients compared
    # by CPU time: client (per request), bulk (per GB); storm: by the times that requests took.
    kind: str = "load"
    servers: tuple = ()  # that take turns, empty: all; or the one that all clients ask
    clients: tuple = ("wrk",)  # that take turns, empty: all; or the one that asks all servers

    @property
    def compares_clients(self):
        return self.kind in CLIENT_KINDS

    @property
    def probed_as(self):
        """Cases that share this share the choice of variants."""
        how = "close" if self.close else "pipelined" if self.pipelined > 1 else "keepalive"
        if self.streams:
            how = "HTTP/2"
        if self.files:
            how = "files"
        if self.gzip:
            how = "gzip"
        return f"{how} TLS" if self.tls else how


CASES = [
    Case("keepalive", "P1", "GET /ok over 64 keep-alive connections", 64),
    Case("pipelined", "P2", "64 connections, 16 requests in each write", 64, pipelined=16),
    Case("idle", "P3", "memory of 15 000 idle keep-alive connections", 15000, kind="idle"),
    Case("many", "P4", "GET /ok over 10 000 keep-alive connections", 10000,
         length_factor=2),  # opening them takes some per cent of a short run
    Case("big", "P5", "bodies of 100 MB to 50 clients", 50, content_bytes=100_000_000, requests=100,
         kind="big", servers=("rivulet", "nginx"), clients=("rivulet-bench",)),
    Case("file-14", "files", "a file of 14 octets over 64 keep-alive connections", 64,
         content_bytes=14, files=True, servers=("rivulet", "nginx")),
    Case("file-100k", "files", "a file of 100 KB over 64 keep-alive connections", 64,
         content_bytes=100_000, files=True, servers=("rivulet", "nginx")),
    Case("file-100m", "files", "a file of 100 MB to 16 clients", 16, content_bytes=100_000_000,
         files=True, requests=32, kind="big", servers=("rivulet", "nginx"),
         clients=("rivulet-bench",)),
    Case("gzip", "gzip", "a page of 20 KB with gzip at level 1, over 64 keep-alive connections", 64,
         content_bytes=20_000, gzip=True, servers=("rivulet", "nginx", "h2o")),
    Case("sessions", "sessions", "64 keep-alive connections, half of them with a session", 64,
         kind="sessions", clients=("rivulet-bench",)),
    Case("routes", "routes", "GET /ok over 64 keep-alive connections, one route or 1 000", 64,
         kind="routes"),
    Case("client", "P6", "clients with 64 connections, against the floor", 64,
         kind="client", servers=("floor",), clients=()),
    Case("client-many", "P6", "clients with 1 000 connections, against the floor", 1000,
         kind="client", servers=("floor",), clients=()),
    Case("client-100k", "P6", "clients with 64 connections, bodies of 100 KB from nginx", 64,
         content_bytes=100_000, kind="bulk", servers=("nginx",), clients=()),
    Case("client-1m", "P6", "clients with 64 connections, bodies of 1 MB from nginx", 64,
         content_bytes=1_000_000, kind="bulk", servers=("nginx",), clients=()),
    Case("storm", "P7", "19 900 connections opened at once, then 1 000 000 requests", 19900,
         requests=1_000_000, server_cpus="0,1", client_cpus="0,1", client_threads=2,
         kind="storm", servers=("rivulet",), clients=("rivulet-ab",)),
    Case("two-workers", "P8", "rivulet with one and two workers, 1 000 connections", 1000,
         server_cpus="0,1", client_cpus="0,1", client_threads=2, kind="workers"),
    Case("close", "P9", "a connection per request, 64 at a time", 64, close=True),
    Case("tls-keepalive", "P10", "GET /ok over 64 keep-alive connections, TLS 1.3", 64, tls=True,
         servers=TLS_SERVERS, clients=("rivulet-bench",)),
    Case("tls-handshake", "P10", "a full handshake per request, TLS 1.3, ECDSA P-256", 64,
         close=True, tls=True, servers=TLS_SERVERS, clients=("rivulet-bench",)),
    Case("tls-big", "P10", "bodies of 100 MB to 16 clients, TLS 1.3", 16, tls=True,
         content_bytes=100_000_000, requests=32, kind="big", servers=("rivulet", "nginx"),
         clients=("rivulet-bench",)),
    Case("tls-idle", "P10", "memory of 4 000 idle TLS 1.3 connections", 4000, tls=True,
         kind="idle", servers=TLS_SERVERS),
    Case("h2", "P10", "HTTP/2 in the clear, 16 connections with 32 streams each", 16, streams=32,
         servers=TLS_SERVERS, clients=("h2load",)),
    Case("h2-idle", "P10", "memory of 4 000 idle connections of HTTP/2", 4000, streams=1,
         kind="idle", servers=TLS_SERVERS),
    Case("h2-tls-idle", "P10", "memory of 4 000 idle connections of HTTP/2 over TLS 1.3", 4000,
         tls=True, streams=1, kind="idle", servers=("rivulet",)),
    Case("client-tls", "P10", "clients with 64 connections, TLS 1.3, against rivulet", 64, tls=True,
         kind="client", servers=("rivulet",), clients=("rivulet-bench", "wrk", "ab", "h2load")),
    Case("client-h2", "P10", "clients of HTTP/2, 16 connections with 32 streams each, "
         "against h2o", 16, streams=32, kind="client", servers=("h2o",),
         clients=("rivulet-bench", "h2load")),
    Case("client-h2-tls", "P10", "the same over TLS 1.3", 16, streams=32, tls=True, kind="client",
         servers=("h2o",), clients=("rivulet-bench", "h2load")),
]

# What a run of each kind tells, in the words of measure.Run and idle.IdleRun.
OF_SERVERS = ("cpu_us_per_request", "requests_per_second", "server_cores", "rss_bytes")
OF_CLIENTS = ("client_cores", "requests_per_second")
FIGURES = {
    "load": OF_SERVERS,
    "workers": OF_SERVERS,
    "sessions": OF_SERVERS,
    "routes": OF_SERVERS,
    "idle": ("rss_bytes_per_connection", "anonymous_bytes_per_connection"),
    "big": ("server_cpu_seconds_per_gigabyte", "client_cpu_seconds_per_gigabyte",
            "gigabytes_per_second", "server_cores", "rss_bytes"),
    "client": ("requests_per_client_cpu_second", "client_cpu_us_per_request", *OF_CLIENTS),
    "bulk": ("gigabytes_per_client_cpu_second", "client_cpu_seconds_per_gigabyte",
             "gigabytes_per_second", *OF_CLIENTS),
    "storm": ("not_answered", "p50_ms", "p99_ms", "longest_ms", "p99_to_p50", *OF_CLIENTS),
}


@dataclass
class Row:
    """One server, or one client, in one case."""

    name: str
    variant: str = ""
    command: list = field(default_factory=list)
    configuration: str = ""  # the text of the file that the command names
    runs: list = field(default_factory=list)  # measure.Run or idle.IdleRun, one per round
    tried: dict = field(default_factory=dict)  # variant -> CPU µs per request in the probe
    missing: str = ""  # why there is no run
    gzip_bytes: int = 0  # of the page, compressed

    def started(self, running):
        self.command = running.command
        self.configuration = "".join(Path(part).read_text() for part in running.command
                                     if part.endswith(".conf"))

    @property
    def good_runs(self):
        return [run for run in self.runs if not run.failed]

    def median(self, quantity):
        """Of a property of the runs that gave a result; None if none did."""
        values = [getattr(run, quantity) for run in self.good_runs]
        return statistics.median(values) if values else None

    def ratio_to(self, other, quantity="cpu_us_per_request"):
        """The median of the ratios within each round: what slows a whole round cancels out."""
        ratios = [getattr(mine, quantity) / getattr(theirs, quantity)
                  for mine, theirs in zip(self.runs, other.runs)
                  if not mine.failed and not theirs.failed]
        return statistics.median(ratios) if ratios else None

    @property
    def marked(self):
        return any(run.failed or run.had_errors for run in self.runs)


@dataclass
class CaseResult:
    case: Case
    seconds: int
    requests: int  # of a run; 0: it was as long as `seconds`
    response_bytes: int = None  # of one response, None if not known
    asked: Row = None  # the one server of a case that compares clients
    rows: list = field(default_factory=list)
    missing: str = ""  # why nothing was run at all

    def row(self, name):
        for row in self.rows:
            if row.name == name:
                return row
        return None
