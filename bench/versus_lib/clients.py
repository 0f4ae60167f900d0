"""The clients: how each is found, told what to do, and how its report is read.

Nothing is run here: `command()` returns what to execute for a load, and `read()` turns what the
client has printed into a `Report`. All of them keep their connections for as long as they run unless
the case wants one per request; all but the bare client check what they get, each in its own way.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from .machine import Unavailable, compile_c, find_program, last_line
from .peers import BENCH, PROJECT, first_version

TIMEOUT_SECONDS = 20  # of one request, where a client can be told
TLS_CIPHERS = "TLS_AES_256_GCM_SHA384"  # what OpenSSL's clients and servers agree on by default
UNIT_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


@dataclass
class Load:
    """What a client is to do; `seconds` bounds a run, or `requests` if there are any."""

    port: int
    path: str
    connections: int
    seconds: int
    requests: int = 0
    threads: int = 1
    pipelined: int = 1
    close: bool = False
    tls: bool = False
    streams: int = 0  # of HTTP/2 on each connection; 0: HTTP/1
    response_bytes: int = None  # head and body, for the client that does not parse
    client_fields: str = ""  # a file with a field for each client
    gzip: bool = False  # it accepts that

    @classmethod
    def of(cls, case, port, path, result):
        """The load of a case, as long as this run of it is to be."""
        return cls(port, path, case.connections, result.seconds, result.requests,
                   case.client_threads, case.pipelined, case.close, case.tls, case.streams,
                   result.response_bytes, gzip=case.gzip)

    @property
    def url(self):
        scheme = "https" if self.tls else "http"
        return f"{scheme}://127.0.0.1:{self.port}{self.path}"


@dataclass
class Report:
    """What a client says of its own run."""

    answered: int
    seconds: float
    errors: dict = field(default_factory=dict)  # by kind
    latency_ms: dict = field(default_factory=dict)  # percentile -> milliseconds, 100 the longest


def number(pattern, text, default=None):
    """The first group, as a number; ValueError if it is not there and there is no default."""
    found = re.search(pattern, text, re.MULTILINE)
    if found is None and default is None:
        raise ValueError(f"it gave no result: {last_line(text)}")
    return float(found.group(1)) if found else default


def duration(pattern, text):
    """The same for a number with a unit right behind it, in seconds."""
    number(pattern, text)
    found = re.search(pattern + r"(us|ms|s|m|h)\b", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"it gave a time without a unit: {last_line(text)}")
    return float(found.group(1)) * UNIT_SECONDS[found.group(2)]


class Client:
    """One row of a table that compares clients. `workspace` is the run's own folder."""

    name = ""
    program = ""
    package = ""  # that brings it

    def __init__(self, workspace):
        self.workspace = workspace

    def missing_packages(self):
        return [self.package] if self.package and find_program(self.program) is None else []

    def prepare(self):
        """Raises Unavailable if this client cannot run here."""
        if find_program(self.program) is None:
            raise Unavailable(f"{self.program} is not installed (Debian package {self.package})")

    def command(self, load):
        raise NotImplementedError

    def read(self, output):
        """A Report; ValueError if the output holds none."""
        raise NotImplementedError

    def version(self):
        raise NotImplementedError


class Bare(Client):
    """bench/bare_client.c, the least a client can do."""

    name = "bare"
    source = BENCH / "bare_client.c"
    program = PROJECT / "build/release/bare_client"

    def prepare(self):
        if self.program.exists() and self.program.stat().st_mtime >= self.source.stat().st_mtime:
            return
        self.program = self.workspace / "bare_client"
        compile_c(self.source, self.program)

    def command(self, load):
        return [str(self.program), "--port", str(load.port), "--path", load.path,
                "--connections", str(load.connections), "--seconds", str(load.seconds),
                "--response-bytes", str(load.response_bytes)]

    def read(self, output):
        return Report(int(number(r"^(\d+) answers", output)), number(r"in (\d+) s$", output))

    def version(self):
        return "of this checkout"


class RivuletClient(Client):
    """A subcommand of ours."""

    def __init__(self, workspace, program):
        super().__init__(workspace)
        self.program = Path(program)

    def prepare(self):
        if not self.program.exists():
            raise Unavailable(f"{os.path.relpath(self.program)} is not built")

    def version(self):
        return first_version([str(self.program), "--version"])


class RivuletBench(RivuletClient):
    name = "rivulet-bench"

    def command(self, load):
        length = ["-n", str(load.requests)] if load.requests else ["-t", f"{load.seconds}s"]
        manner = ["--no-keepalive"] if load.close else []
        if load.tls:
            manner += ["--insecure", "--tls-version", "1.3", "--ciphers", TLS_CIPHERS]
        if load.client_fields:
            manner += ["--client-headers", load.client_fields]
        if load.streams:
            manner += ["--http2", "--streams", str(load.streams)]
        return [str(self.program), "bench", "-q", "-c", str(load.connections), *length, *manner,
                "--threads", str(load.threads), "--timeout", f"{TIMEOUT_SECONDS}s",
                "--format", "json", load.url]

    def read(self, output):
        try:
            result = json.loads(output)
            answered = result["requests"]["answered"]
            errors = {"failed": result["requests"]["failed"],
                      "status": answered - result["statuses"].get("200", 0)}
            return Report(answered, result["elapsed_us"] / 1e6, errors)
        except (json.JSONDecodeError, KeyError) as problem:
            raise ValueError(f"its JSON cannot be read: {problem}") from None


AB_ERRORS = {"failed": r"^Failed requests:\s+(\d+)", "write": r"^Write errors:\s+(\d+)",
             "status": r"^Non-2xx responses:\s+(\d+)"}


def read_ab(output):
    """ab's report, also when it is ours."""
    errors = {name: int(number(pattern, output, 0)) for name, pattern in AB_ERRORS.items()}
    served = {int(percent): float(ms) for percent, ms
              in re.findall(r"^\s+(\d+)%\s+(\d+)", output, re.MULTILINE)}
    return Report(int(number(r"^Complete requests:\s+(\d+)", output)),
                  number(r"^Time taken for tests:\s+([\d.]+)", output), errors, served)


def ab_arguments(load):
    # A -t alone would mean 50 000 requests at most. ab takes memory for all of -n at its start, so
    # that is no more than what no client here reaches.
    length = ["-n", str(load.requests)] if load.requests else [
        "-t", str(load.seconds), "-n", str(1_000_000 * load.seconds)]
    return ["-q", "-k", "-c", str(load.connections), *length, "-s", str(TIMEOUT_SECONDS), load.url]


class RivuletAb(RivuletClient):
    name = "rivulet-ab"

    def command(self, load):
        return [str(self.program), "ab", *ab_arguments(load)]

    def read(self, output):
        return read_ab(output)


class Ab(Client):
    name = program = "ab"
    package = "apache2-utils"

    def command(self, load):
        return ["ab", *ab_arguments(load)]

    def read(self, output):
        return read_ab(output)

    def version(self):
        return first_version(["ab", "-V"])


class Wrk(Client):
    name = program = package = "wrk"

    def command(self, load):
        command = ["wrk", f"-t{load.threads}", f"-c{load.connections}", f"-d{load.seconds}s",
                   "--timeout", f"{TIMEOUT_SECONDS}s"]
        if load.close:
            command += ["-H", "Connection: close"]
        if load.gzip:
            command += ["-H", "Accept-Encoding: gzip"]
        if load.pipelined > 1:
            command += ["-s", str(BENCH / "pipeline.lua")]
        command.append(load.url)
        if load.pipelined > 1:
            command += ["--", str(load.pipelined)]
        return command

    def read(self, output):
        errors = {"connect": 0, "read": 0, "write": 0, "timeout": 0}
        socket_errors = re.search(r"Socket errors: (.*)", output)
        if socket_errors:
            for name, count in re.findall(r"(\w+) (\d+)", socket_errors.group(1)):
                errors[name] = int(count)
        errors["status"] = int(number(r"Non-2xx or 3xx responses: (\d+)", output, 0))
        return Report(int(number(r"(\d+) requests in ", output)),
                      duration(r"\d requests in ([\d.]+)", output), errors)

    def version(self):
        if find_program("taskset") is None:
            raise Unavailable("taskset is not installed")
        done = subprocess.run(["wrk", "-v"], capture_output=True, text=True)
        return (done.stdout + done.stderr).splitlines()[0].split()[1]


class H2load(Client):
    name = program = "h2load"
    package = "nghttp2-client"

    def command(self, load):
        ciphers = [f"--tls13-ciphers={TLS_CIPHERS}"] if load.tls else []
        protocol = ["-m", str(load.streams)] if load.streams else ["--h1"]
        return ["h2load", *protocol, f"-t{load.threads}", f"-c{load.connections}",
                "-D", str(load.seconds), *ciphers, load.url]

    def read(self, output):
        counts = re.search(r"^requests:.* (\d+) succeeded, (\d+) failed, (\d+) errored, "
                           r"(\d+) timeout", output, re.MULTILINE)
        if counts is None:
            raise ValueError(f"it gave no result: {last_line(output)}")
        succeeded, failed, errored, timeout = map(int, counts.groups())
        return Report(succeeded, duration(r"^finished in ([\d.]+)", output),
                      {"failed": failed, "connection": errored, "timeout": timeout})

    def version(self):
        return first_version(["h2load", "--version"])


NAMES = ["bare", "rivulet-bench", "rivulet-ab", "wrk", "ab", "h2load"]


def all_clients(workspace, rivulet_program):
    """In the order of the table."""
    return [Bare(workspace), RivuletBench(workspace, rivulet_program),
            RivuletAb(workspace, rivulet_program), Wrk(workspace), Ab(workspace), H2load(workspace)]
