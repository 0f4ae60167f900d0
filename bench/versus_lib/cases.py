"""The loads, and how the servers take turns under each.

A case starts every server once (for `idle`: afresh for every run), tries the variants of those that
have several for a second each and keeps the cheapest, then lets all take turns, round after round,
so that a disturbance of the machine meets all alike. The outcome is one `CaseResult`; judging and
printing it is others' work.
"""

import statistics
from dataclasses import dataclass, field
from pathlib import Path

from . import measure
from .machine import Unavailable, free_port

PROBE_SECONDS = 1


@dataclass(frozen=True)
class Case:
    name: str
    target: str  # its number in the design's table
    title: str
    connections: int
    pipelined: int = 1
    close: bool = False
    server_cpus: str = "0"
    client_cpus: str = "1"
    client_threads: int = 1
    length_factor: int = 1  # runs are so many times --seconds
    kind: str = "load"  # or idle: memory; or workers: rivulet alone, with one and with two

    @property
    def probed_as(self):
        """Cases that share this share the choice of variants."""
        if self.close:
            return "close"
        return "pipelined" if self.pipelined > 1 else "keepalive"


CASES = [
    Case("keepalive", "P1", "GET /ok over 64 keep-alive connections", 64),
    Case("pipelined", "P2", "64 connections, 16 requests in each write", 64, pipelined=16),
    Case("idle", "P3", "memory of 15 000 idle keep-alive connections", 15000, kind="idle"),
    Case("many", "P4", "GET /ok over 10 000 keep-alive connections", 10000,
         length_factor=2),  # opening them takes some per cent of a short run
    Case("two-workers", "P8", "rivulet with one and two workers, 1 000 connections", 1000,
         server_cpus="0,1", client_cpus="0,1", client_threads=2, kind="workers"),
    Case("close", "P9", "a connection per request, 64 at a time", 64, close=True),
]


@dataclass
class Row:
    """One server in one case."""

    name: str
    variant: str = ""
    command: list = field(default_factory=list)
    configuration: str = ""  # the text of the file that the command names
    runs: list = field(default_factory=list)  # measure.Run or measure.IdleRun, one per round
    tried: dict = field(default_factory=dict)  # variant -> CPU µs per request in the probe
    missing: str = ""  # why there is no run

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
    response_bytes: int = None  # of rivulet's own response, None if it did not run
    rows: list = field(default_factory=list)

    def row(self, name):
        for row in self.rows:
            if row.name == name:
                return row
        return None


class Bench:
    """Runs cases with the servers that are available; remembers which variants won."""

    def __init__(self, servers, workspace, seconds, rounds, connections_max, say):
        self.servers = servers
        self.workspace = workspace
        self.seconds = seconds
        self.rounds = rounds
        self.connections_max = connections_max
        self.say = say
        self.probed = {}  # (server name, probed_as) -> (variant, tried)

    def server(self, name):
        return next((server for server in self.servers if server.name == name), None)

    def run(self, case, result):
        """Fills in `result` as it goes, so that an interrupted case leaves what it has."""
        self.say(f"{case.name}: {case.title}")
        if case.kind == "idle":
            self._run_idle(case, result)
        else:
            self._run_load(case, result)

    # ---- starting --------------------------------------------------------------------------------

    def start(self, server, variant, case, response_bytes):
        port = free_port()
        command = server.command(port, variant, case, response_bytes)
        errors = self.workspace / f"{server.name.replace(' ', '-')}-{port}.err"
        return measure.Running(command, case.server_cpus, port, case, errors)

    def rivulet_response_bytes(self, case):
        """How long rivulet's response is, for the floor to send as much; None if unknown."""
        rivulet = self.server("rivulet")
        if rivulet is None:
            return None
        try:
            running = self.start(rivulet, "default", case, None)
        except Unavailable:
            return None  # its own row will say why
        running.end()
        return running.response_bytes

    def choose_variant(self, server, case, response_bytes):
        """The cheapest of a server's variants under this kind of load."""
        variants = server.variants(case)
        if len(variants) == 1:
            return variants[0], {}
        key = (server.name, case.probed_as)
        if key in self.probed:
            return self.probed[key]
        probe = next((other for other in CASES
                      if other.probed_as == case.probed_as and other.kind == "load"), case)
        tried, complaint = {}, ""
        for variant in variants:
            try:
                running = self.start(server, variant, probe, response_bytes)
            except Unavailable as problem:
                complaint = str(problem)
                continue
            run = measure.run_wrk(probe, running, PROBE_SECONDS)
            running.end()
            if not run.failed:
                tried[variant] = run.cpu_us_per_request
        if not tried:
            raise Unavailable(complaint or "no variant of its configuration gave a result")
        best = min(tried, key=tried.get)
        listed = ", ".join(f"{name} {spent:.2f} µs" for name, spent in tried.items())
        self.say(f"  {server.name}: {listed}; taken: {best}")
        self.probed[key] = best, tried
        return self.probed[key]

    # ---- load ------------------------------------------------------------------------------------

    def contestants(self, case):
        if case.kind != "workers":
            return self.servers
        rivulet = self.server("rivulet")
        return [rivulet.with_workers(1), rivulet.with_workers(2)] if rivulet else []

    def _run_load(self, case, result):
        running = {}
        try:
            result.response_bytes = self.rivulet_response_bytes(case)
            for server in self.contestants(case):
                row = Row(server.name)
                result.rows.append(row)
                try:
                    server.prepare()
                    row.variant, row.tried = self.choose_variant(server, case,
                                                                 result.response_bytes)
                    running[row.name] = self.start(server, row.variant, case,
                                                   result.response_bytes)
                    row.started(running[row.name])
                except Unavailable as problem:
                    row.missing = str(problem)
                    self.say(f"  {row.name} is left out: {problem}")
            for number in range(self.rounds):
                self._run_round(case, result, running, number)
        finally:
            for server in running.values():
                server.end()

    def _run_round(self, case, result, running, number):
        for row in result.rows:
            if row.name not in running:
                continue
            run = measure.run_wrk(case, running[row.name], result.seconds)
            row.runs.append(run)
            outcome = run.failed or (f"{run.cpu_us_per_request:.3f} µs per request, "
                                     f"{run.requests_per_second:,.0f} requests/s")
            self.say(f"  round {number + 1}: {row.name}: {outcome}")

    # ---- idle ------------------------------------------------------------------------------------

    def _run_idle(self, case, result):
        connections = case.connections
        if connections > self.connections_max:
            connections = self.connections_max
            self.say(f"  only {connections} connections: that is what `ulimit -n` allows")
        for server in self.servers:
            row = Row(server.name)
            result.rows.append(row)
            try:
                server.prepare()
                row.variant, row.tried = self.choose_variant(server, case, None)
            except Unavailable as problem:
                row.missing = str(problem)
                self.say(f"  {row.name} is left out: {problem}")
        for number in range(self.rounds):
            for row in result.rows:
                if not row.missing:
                    self._run_idle_once(case, row, connections, number)

    def _run_idle_once(self, case, row, connections, number):
        server = self.server(row.name)
        try:
            running = self.start(server, row.variant, case, None)
        except Unavailable as problem:
            row.missing = str(problem)
            self.say(f"  {row.name} is left out: {problem}")
            return
        try:
            row.started(running)
            run = measure.run_idle(running, min(connections, server.connections_max))
        finally:
            running.end()
        row.runs.append(run)
        outcome = run.failed or f"{run.rss_bytes_per_connection:.0f} bytes per connection"
        self.say(f"  round {number + 1}: {row.name}: {outcome}")
