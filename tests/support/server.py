"""Server processes of the tests: found, started, watched, stopped by their id.

Every one of them must end well: after SIGTERM with status 0, and without a word from a sanitizer.
A test that stops its server in another way says so through `expect_end`.
"""

import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
REPORTS = re.compile(r"ERROR: AddressSanitizer|LeakSanitizer|runtime error:|"
                     r"WARNING: ThreadSanitizer|SUMMARY: \w+Sanitizer")
ADDRESS = re.compile(r"listening on (\S+)")
START_TIMEOUT_S = 30
STOP_TIMEOUT_S = 30


def build_directory(preset):
    """Where a preset was built: RIVULET_BUILD_ASAN and its kin, else build/asan and its kin."""
    return pathlib.Path(os.environ.get(f"RIVULET_BUILD_{preset.upper()}", ROOT / "build" / preset))


def program(name, preset="asan"):
    path = build_directory(preset) / name
    if not path.exists():
        pytest.fail(f"{path} is not there: cmake --preset {preset} && cmake --build build/{preset}")
    return str(path)


def sanitizer_environment():
    environment = dict(os.environ)
    environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    environment.setdefault("ASAN_OPTIONS", "detect_leaks=1:exitcode=99")
    return environment


class Lines:
    """The lines that a pipe has given so far, and waiting for more of them."""

    def __init__(self, pipe):
        self.all = []
        self.ended = False
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self.thread.start()

    def _read(self, pipe):
        for line in pipe:
            with self.changed:
                self.all.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait_for(self, condition, timeout_s):
        """True when `condition(lines)` came true before the time or the pipe ended."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or condition(self.all), timeout_s)
            return condition(self.all)

    @property
    def text(self):
        with self.changed:
            return "\n".join(self.all)


class Server:
    """A running server. `addresses` is how many it is expected to print."""

    def __init__(self, command, addresses=1, expect_end=0, **popen):
        self.expect_end = expect_end
        self.signalled = False
        popen.setdefault("env", sanitizer_environment())
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, errors="replace", **popen)
        self.stdout = Lines(self.process.stdout)
        self.stderr = Lines(self.process.stderr)
        started = self.stdout.wait_for(
            lambda lines: len(ADDRESS.findall("\n".join(lines))) >= addresses, START_TIMEOUT_S)
        if not started:
            self.kill()
            raise AssertionError(
                f"{command} did not start:\n{self.stdout.text}\n{self.stderr.text}")

    @property
    def pid(self):
        return self.process.pid

    @property
    def addresses(self):
        return ADDRESS.findall(self.stdout.text)

    @property
    def port(self):
        """The port of the first address that has one."""
        return int(next(re.search(r":(\d+)/?$", a).group(1) for a in self.addresses
                        if a.startswith("http")))

    @property
    def ports(self):
        """The ports of all addresses that have one."""
        return [int(re.search(r":(\d+)/?$", a).group(1)) for a in self.addresses
                if a.startswith("http")]

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def signal(self, number=signal.SIGTERM):
        self.signalled = True
        os.kill(self.pid, number)

    def wait(self, timeout_s=STOP_TIMEOUT_S):
        """The exit status. A server that does not end is a failure, and is ended."""
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"still running {timeout_s} s after it was asked to stop") from None
        self.stdout.thread.join(5)
        self.stderr.thread.join(5)
        return status

    def stop(self):
        """Asks it to stop if that has not been done, and checks how it ends."""
        if self.process.poll() is None and not self.signalled:
            self.signal()
        started = time.monotonic()
        status = self.wait()
        self.check_reports()
        assert status == self.expect_end, f"exit status {status}:\n{self.stderr.text[-4000:]}"
        return time.monotonic() - started

    def check_reports(self):
        assert not REPORTS.search(self.stderr.text), self.stderr.text[-8000:]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Servers:
    """Starts servers for one test or module and ends them all with it."""

    def __init__(self, wire_folder):
        self.started = []
        self.wire_folder = wire_folder

    def start(self, command, **options):
        server = Server(command, **options)
        self.started.append(server)
        return server

    def demo(self, *arguments, preset="asan", listen=("127.0.0.1:0",), **options):
        """`rivulet serve --demo` with these arguments."""
        listens = [word for address in listen for word in ("--listen", address)]
        options.setdefault("addresses", max(1, len(listen)))
        return self.start([program("rivulet", preset), "serve", "--demo", *listens, *arguments],
                          **options)

    def with_descriptor(self, listener, environment, *arguments):
        """`rivulet serve --demo` with the listener as descriptor 3, and variables set by bash."""
        script = f"exec 3<&{listener.fileno()} && {environment} exec \"$@\""
        return self.start(["bash", "-c", script, "bash", program("rivulet"), "serve", "--demo",
                           *arguments], pass_fds=[listener.fileno()])

    def wire(self, preset="asan", listen="127.0.0.1:0", tls=False, root="folder", **numbers):
        """wire_target; `head_timeout_ms=500` becomes `--head-timeout-ms 500`. With `tls` it has a
        second address, which speaks that. `root` is how it serves its folder."""
        popen = {key: numbers.pop(key) for key in ("preexec_fn", "expect_end") if key in numbers}
        command = [program("wire_target", preset), str(self.wire_folder), "--root", root,
                   "--listen", listen]
        if tls:
            command += ["--tls-listen", "127.0.0.1:0"]
            popen["addresses"] = 2
        for name, number in numbers.items():
            command += ["--" + name.replace("_", "-"), str(number)]
        return self.start(command, **popen)

    def stop_all(self):
        failures = []
        for server in self.started:
            try:
                server.stop()
            except AssertionError as failure:
                failures.append(str(failure))
        self.started.clear()
        assert not failures, "\n".join(failures)
