"""Runs ApacheBench and ours with the same words, and reads the reports of both in the same way."""

import dataclasses
import os
import re
import shutil
import subprocess

from support.server import REPORTS, program, sanitizer_environment

# What must be the same when the server answers the same; all others are times and rates.
COUNTED = ("Server Software", "Server Hostname", "Server Port", "Document Path", "Document Length",
           "Concurrency Level", "Complete requests", "Failed requests", "Write errors",
           "Non-2xx responses", "Keep-Alive requests", "Total transferred", "Total body sent",
           "HTML transferred")
LABELLED = re.compile(r"^([A-Z][A-Za-z0-9 -]*): +(.*?) *$")
# ApacheBench prints these for runs that are fast and even (rounding), and ours never.
UNRELIABLE = re.compile(r"^(?:WARNING|ERROR): The median and mean .*\n.*reliable\.\n", re.M)
NUMBER = re.compile(r"\d+(\.\d+)?")
CELLS = re.compile(r"^(Connect|Processing|Waiting|Total): *")


def installed():
    return shutil.which("ab") is not None


@dataclasses.dataclass
class Outcome:
    """How a run ended, and what it said."""

    status: int
    stdout: str
    stderr: str

    @property
    def report_start(self):
        start = re.search(r"^(<table|Server Software)", self.stdout, re.M)
        return start.start() if start else len(self.stdout)

    @property
    def report(self):
        """From "Server Software" on; "" when there is none."""
        return UNRELIABLE.sub("", self.stdout[self.report_start:])

    @property
    def before(self):
        """What stands between the banner and the report."""
        return self.stdout[:self.report_start].split("\n", 4)[4]

    @property
    def counted(self):
        """The lines that count, and their values, in their order."""
        pairs = [LABELLED.match(line) for line in self.report.splitlines()]
        return [match.groups() for match in pairs if match and match[1] in COUNTED]

    @property
    def shape(self):
        """The report with its numbers taken out: what is left are labels and columns. A line of times
        stands for its columns: how many, how wide, and with how many decimals."""
        return [_shape_of(line) for line in self.report.splitlines()]

    def value(self, label):
        return dict(self.counted)[label]

    def number(self, pattern):
        """The number at the first group of a pattern that starts at the beginning of a line."""
        match = re.search("^" + pattern, self.report, re.M)
        assert match, f"no {pattern!r} in:\n{self}"
        return float(match[1])

    @property
    def failures(self):
        """The four kinds."""
        match = re.search(r"^   \(Connect: (\d+), Receive: (\d+), Length: (\d+), "
                          r"Exceptions: (\d+)\)$", self.report, re.M)
        return tuple(int(count) for count in match.groups()) if match else (0, 0, 0, 0)

    def row(self, name):
        """A row of the table of times."""
        match = re.search(rf"^{name}: +([0-9. ]+)$", self.report, re.M)
        assert match, f"no {name} in:\n{self}"
        return [float(cell) for cell in match[1].split()]

    def __str__(self):
        return f"exit {self.status}\n{self.stdout}\n{self.stderr}"


def _shape_of(line):
    cells = CELLS.match(line)
    if cells:
        return [cells[1], len(line), *("0.0" if "." in cell else "0"
                                      for cell in line[cells.end():].split())]
    if re.match(r" *\d+%", line):
        return re.sub(r" +\d+(?= \(|$)", " N", line)
    return NUMBER.sub(lambda number: "N.N" if number[1] else "N", line)


def _run(path, words, timeout_s, **options):
    options.setdefault("env", sanitizer_environment())
    done = subprocess.run([path, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=timeout_s, check=False, **options)
    return Outcome(done.returncode, done.stdout.decode("latin-1"), done.stderr.decode("latin-1"))


class Pair:
    """Both programs. Ours is called by the name of the other, through a symbolic link."""

    def __init__(self, folder):
        self.folder = folder
        self.link = folder / "ab"
        self.link.symlink_to(program("rivulet"))

    def ours(self, *words, timeout_s=60, **options):
        outcome = _run(str(self.link), words, timeout_s, **options)
        assert not REPORTS.search(outcome.stderr), outcome.stderr[-8000:]
        return outcome

    def theirs(self, *words, timeout_s=60, **options):
        return _run(shutil.which("ab"), words, timeout_s, **options)

    def both(self, *words, **options):
        return self.theirs(*words, **options), self.ours(*words, **options)

    def file(self, name, octets):
        path = self.folder / name
        path.write_bytes(octets)
        return os.fspath(path)
