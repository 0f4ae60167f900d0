"""The wire cases over real sockets, against wire_target.

Each case runs twice: as it is given, and cut into random segments (the same ones each time). Those
that are about files run once more, against the same files as assets. All run at once in threads,
because most of their time is waiting for silence; then each is judged in a test of its own. README.md
beside this file tells the form of the cases.
"""

import concurrent.futures
import random
import re
import socket
import time

import pytest

from support import answers
from support.client import GET, Client, ask_once
from support.wire_case import check_also, load, segments_of
from support.wire_folder import fetch_validators

THREADS = 48
SILENCE_S = 0.3
TIMEOUT_S = 15.0
KEYS = {"id", "source", "note", "send", "expect", "also", "interim", "awaits", "half_close",
        "octets", "pause_ms", "advance_ms", "head_responses", "template",
        "unannounced"}
OF_ASSETS = ("conditional", "ranges", "paths", "files")


GROUPS = load()
CASES = [case for group in GROUPS.values() for case in group]
RUNS = [(case, mode) for case in CASES for mode in ("as given", "cut")]
RUNS += [(case, "assets") for group in OF_ASSETS for case in GROUPS[group]]


# ---- from a case to octets -----------------------------------------------------------------------

def random_segments(case, validators):
    octets = b"".join(segments_of(case, validators))
    chance = random.Random("rivulet " + case["id"])
    cuts = sorted(chance.randrange(len(octets) + 1) for _ in range(chance.randint(1, 12)))
    return [octets[a:b] for a, b in zip([0] + cuts, cuts + [len(octets)]) if a < b]


# ---- running -------------------------------------------------------------------------------------

def expectations(case):
    def repeat(match):
        return ",".join([match.group(1)] * int(match.group(2)))
    return [re.sub(r"(\d+)x(\d+)", repeat, text) for text in case["expect"]]


def fits(case, actual):
    return any(actual == text or (text[-1] == "*" and actual[:-1] == text[:-1])
               for text in expectations(case))


def read_until_settled(case, client):
    """Reads to the end, or to a silence behind what was expected, or to the deadline."""
    deadline = time.monotonic() + TIMEOUT_S
    try:
        while not client.ended and time.monotonic() < deadline:
            if client.receive(SILENCE_S):
                continue
            finals, _ = answers.parse(client.pending, False, case.get("head_responses", ()))
            if fits(case, answers.summary(finals, False)):
                break
    except ConnectionResetError:
        raise answers.Fault("the connection was reset") from None


def run(case, segments, port, as_given):
    """(octets received, closed)"""
    pause_s = case.get("pause_ms", 0) / 1000 if as_given else 0.002
    with Client(port, timeout_s=TIMEOUT_S) as client:
        for number, segment in enumerate(segments):
            if number > 0:
                if as_given and case.get("awaits"):
                    client.receive(TIMEOUT_S)
                    assert b"100 Continue\r\n\r\n" in client.pending, "no 100 before the body"
                time.sleep(pause_s)
            try:
                client.send(segment)
            except (BrokenPipeError, ConnectionResetError):
                break  # it has refused already; what it said must still be readable
        if case.get("half_close"):
            try:
                client.half_close()
            except OSError:
                pass
        read_until_settled(case, client)
        return client.pending, client.ended


def attempt(case, segments, port, as_given):
    try:
        return run(case, segments, port, as_given)
    except (AssertionError, OSError, socket.timeout) as failure:
        return failure


def octets_to_send(case, mode, validators):
    if mode == "cut":
        return random_segments(case, validators)
    given = segments_of(case, validators)
    return [bytes([octet]) for octet in b"".join(given)] if case.get("octets") else given


@pytest.fixture(scope="module")
def results(wire, module_servers):
    """By id and mode: what came back, or the failure."""
    assets = module_servers.wire(workers=2, root="assets")
    validators = {server: fetch_validators(server.port) for server in (wire, assets)}
    collected = {}
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for case, mode in RUNS:
            server = assets if mode == "assets" else wire
            octets = octets_to_send(case, mode, validators[server])
            collected[case["id"], mode] = pool.submit(attempt, case, octets, server.port,
                                                      mode != "cut")
    return {key: future.result() for key, future in collected.items()}


# ---- judging -------------------------------------------------------------------------------------

def check_response(also, finals):
    number = also.get("response", 0)
    assert number < len(finals), "the response that something is said of is not there"
    assert finals[number].line == also.get("line", finals[number].line)
    check_also(also, finals[number])


def judge(case, result, as_given):
    if isinstance(result, Exception):
        raise result
    octets, closed = result
    heads = case.get("head_responses", ())
    finals, interim = answers.parse(octets, closed, heads)
    actual = answers.summary(finals, closed)
    assert fits(case, actual), f"{case['note']}: got {actual}: {octets[:2000]!r}"
    old = any("HTTP/1.0" in str(segment) for segment in case["send"])
    answers.check(finals, closed, may_just_close=old or case.get("half_close", False)
                  or case.get("unannounced", False))
    for also in case.get("also", ()):
        check_response(also, finals)
    if "interim" in case and (as_given or case["interim"] == 0):
        assert interim == case["interim"]


@pytest.mark.parametrize("case,mode", RUNS, ids=[f"{case['id']}-{mode}" for case, mode in RUNS])
def test_case(case, mode, results):
    judge(case, results[case["id"], mode], mode != "cut")


def test_ids_are_unique():
    ids = [case["id"] for case in CASES]
    assert len(ids) == len(set(ids))


def test_cases_have_no_unknown_keys():
    assert not [case["id"] for case in CASES if set(case) - KEYS]


def test_the_target_still_serves_after_all_cases(results, wire):
    assert results and ask_once(wire.port, GET).body == b"Hello, world\r\n"
