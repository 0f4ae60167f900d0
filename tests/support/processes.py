"""What the kernel tells of a process."""

import os
import pathlib

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


def cpu_s(pid):
    """User and system time so far."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))
