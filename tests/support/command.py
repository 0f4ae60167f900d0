"""Runs the `rivulet` command to its end: it must end as expected, and without a sanitizer's word."""

import subprocess

from support.server import REPORTS, program, sanitizer_environment

TIMEOUT_S = 60


class Ended:
    """How a run ended, and what it said."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        assert not REPORTS.search(err), err[-8000:]


def rivulet(*words, before=(), code=0, timeout_s=TIMEOUT_S, **options):
    """`rivulet` with these words, and its exit code checked, unless that is None; `before` are words in front of it, `input`
    is what it reads from stdin."""
    if "input" not in options:
        options["stdin"] = subprocess.DEVNULL
    done = subprocess.run([*before, program("rivulet"), *map(str, words)], text=True,
                          capture_output=True, timeout=timeout_s, check=False,
                          env=sanitizer_environment(), **options)
    ended = Ended(done.returncode, done.stdout, done.stderr)
    assert code in (None, ended.code), f"exit code {ended.code}:\n{ended.out}\n{ended.err}"
    return ended
