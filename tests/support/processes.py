"""What the kernel tells of a process."""

import os
import pathlib
import threading

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def descriptors(pid):
    """How many descriptors it has open."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def sockets(pid):
    """How many of them are sockets."""
    count = 0
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            count += os.readlink(entry).startswith("socket:")
        except FileNotFoundError:
            pass
    return count


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE_BYTES


class Watched:
    """Looks at a process's memory many times a second, as long as the `with` lasts."""

    INTERVAL_S = 0.02

    def __init__(self, pid):
        self.pid = pid
        self.before = self.highest = resident_bytes(pid)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch)

    def _watch(self):
        while not self.over.wait(self.INTERVAL_S):
            self.highest = max(self.highest, resident_bytes(self.pid))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    @property
    def growth(self):
        """By how many octets it was larger at its largest than in the beginning."""
        return self.highest - self.before


def cpu_s(pid):
    """User and system time so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))
