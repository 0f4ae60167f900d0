"""Runs `rivulet bench` against what a test has set up, and reads what it found."""

import json
import subprocess
import time

from support.server import REPORTS, program, sanitizer_environment


class Run:
    """One run of the command: how it ended, what it said, and the result that it saved, if any."""

    def __init__(self, done, elapsed_s, result):
        self.status = done.returncode
        self.text = done.stdout  # the report, for people
        self.errors = done.stderr
        self.elapsed_s = elapsed_s
        self.result = result
        if result is not None:
            self.statuses = {int(status): count for status, count in result["statuses"].items()}
            self.failures = {name: failure["count"] for name, failure in result["failures"].items()}
            self.times = result["times_us"]
            self.total = self.times["total"]["all"]
            self.verdict = result["verdict"]["grade"]
            self.reasons = result["verdict"]["reasons"]
            self.causes = {found["id"]: found["text"] for found in result["why"]}

    def __getattr__(self, name):
        """What was counted, by its name."""
        for group in ("requests", "connections", "octets"):
            if self.__dict__.get("result") and name in self.result[group]:
                return self.result[group][name]
        raise AttributeError(f"{name} is not in the result: {self!r}")

    def __repr__(self):
        return f"exit {self.status} after {self.elapsed_s:.1f} s\n{self.text}\n{self.errors}"


def command(*arguments):
    return [program("rivulet"), "bench", "-q", *map(str, arguments)]


def bench(folder, *arguments, timeout_s=60, **options):
    """`rivulet bench` with these arguments. It must end by itself, without a sanitizer's word."""
    saved = folder / "result.json"
    saved.unlink(missing_ok=True)
    started = time.monotonic()
    done = subprocess.run(
        command("-o", saved, *arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=timeout_s, check=False, env=sanitizer_environment(), **options)
    elapsed_s = time.monotonic() - started
    assert not REPORTS.search(done.stderr), done.stderr[-8000:]
    result = json.loads(saved.read_bytes()) if saved.exists() and saved.stat().st_size > 0 else None
    return Run(done, elapsed_s, result)
