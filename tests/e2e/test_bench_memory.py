"""A long run of `rivulet bench` costs no more memory than a short one: watched while it runs.

That an hour of answers costs no more than a minute's is shown in tests/unit/load/test_recorder_memory.c,
by the clock alone; here it is the whole command, with connections, buffers and the kernel's word.
"""

import json
import subprocess
import time

import pytest

from support.processes import resident_bytes
from support.server import program

pytestmark = [pytest.mark.slow, pytest.mark.release]

RUN_S = 20
SETTLED_S = 3  # by then every connection is open and has been used
ANSWERED_MIN = RUN_S * 2500
GROWTH_MAX = 256 * 1024  # what /proc/PID/statm may be wrong by: it is counted in batches


def sizes_during(command, seconds):
    """Resident octets of a command, as (seconds since its start, octets), until it ends."""
    seen = []
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while process.poll() is None and time.monotonic() - started < seconds - 1:
            seen.append((time.monotonic() - started, resident_bytes(process.pid)))
            time.sleep(0.2)
        report, complaints = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, complaints
    return seen, report


@pytest.mark.parametrize("load", [
    pytest.param(["-c", "64"], id="closed"),
    pytest.param(["-R", "5k", "--arrivals", "poisson", "--max-clients", "64"], id="open"),
])
def test_a_run_does_not_grow(servers, load):
    server = servers.demo("--workers", "1", preset="release")
    seen, report = sizes_during(
        [program("rivulet", "release"), "bench", *load, "-t", f"{RUN_S}s", "--threads", "1",
         "--format", "json", server.url("/ok")], RUN_S)
    settled = [octets for at_s, octets in seen if at_s >= SETTLED_S]
    assert len(settled) > 20
    assert max(settled) - settled[0] < GROWTH_MAX, f"{settled[0]} octets grew to {max(settled)}"
    # So many that a growth by a few octets each would be seen.
    assert json.loads(report)["requests"]["answered"] > ANSWERED_MIN
