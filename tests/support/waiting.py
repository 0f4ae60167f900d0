"""Waiting for conditions, with a deadline: never a sleep that hopes."""

import time


def wait_until(condition, timeout_s=10.0, what="the condition", interval_s=0.01):
    """Returns the first true value of `condition()`; fails when none comes in time."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {timeout_s} s")
        time.sleep(interval_s)
