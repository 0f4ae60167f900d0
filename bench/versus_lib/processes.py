"""Processes under measurement: started, watched, ended; CPU time and memory of a whole tree.

Owns every process it starts until that process has ended: whatever happens, `end_all()` leaves
nothing running.
"""

import os
import re
import select
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS_MAX = 8
NOWHERE = subprocess.DEVNULL

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


@dataclass
class Ended:
    """What a process has left: its words, its status and what it has spent."""

    output: str
    complaints: str
    status: int = None  # None: it did not end in time and was ended
    cpu_seconds: float = 0.0  # user and system time of all its threads


def run_to_end(command, seconds_max):
    """Waits for it without waking up meanwhile: the cores belong to what is measured."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        process = start(command, stdout=output, stderr=complaints)
        ended = Ended("", "")
        try:
            watch = os.pidfd_open(process.pid)
            try:
                if select.select([watch], [], [], seconds_max)[0]:
                    _, status, usage = os.wait4(process.pid, 0)
                    ended.status = process.returncode = os.waitstatus_to_exitcode(status)
                    ended.cpu_seconds = usage.ru_utime + usage.ru_stime
            finally:
                os.close(watch)
        finally:
            end(process)
        for name, file in (("output", output), ("complaints", complaints)):
            file.seek(0)
            setattr(ended, name, file.read().decode(errors="replace"))
        return ended


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
