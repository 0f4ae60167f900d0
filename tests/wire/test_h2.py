"""The HTTP/2 wire cases over real sockets, against wire_target; and the cases of HTTP/1 that are about
files, translated.

Each case runs in the clear as it is given, in the clear octet by octet, and over TLS cut into random
segments (the same ones each time). All run at once in threads; then each is judged in a test of its
own. README.md beside this file tells the form of the cases.
"""

import concurrent.futures
import random
import ssl
import time

import pytest

from support import h2_case
from support import h2_frames as h2
from support.h2_client import H2Client, ask_once
from support.wire_case import OF_FILES, check_also, has_http2, http2_steps, in_http2, load
from support.wire_folder import fetch_validators

THREADS = 16
SILENCE_S = 0.2
TIMEOUT_S = 15.0
MODES = ["as given", "octets", "tls"]
OCTETS_MAX = 4000  # sent one by one; more are cut into random segments
BARRIER = b"barrier!"


CASES = [case for group in load("h2_cases").values() for case in group]
CASES += [in_http2(case) for name, group in load().items() if name in OF_FILES
          for case in group if has_http2(case)]


# ---- running -------------------------------------------------------------------------------------

def cuts_of(case, mode, length):
    """Where a segment of so many octets is cut."""
    if mode == "as given":
        return []
    if mode == "octets" and length <= OCTETS_MAX:
        return range(1, length)
    if mode.startswith("at "):
        return [int(mode[3:])]
    chance = random.Random("rivulet " + case["id"])
    return sorted(chance.randrange(length + 1) for _ in range(chance.randint(1, 12)))


def send_in_pieces(case, mode, client, octets):
    cuts = [0, *cuts_of(case, mode, len(octets)), len(octets)]
    for start, end in zip(cuts, cuts[1:]):
        if start < end:
            client.send(octets[start:end])


def is_there(awaits, times):
    """A condition of the reader: the stream is over, or so many of these frames have come."""
    def condition(reader):
        if isinstance(awaits, int):
            return awaits in reader.streams and reader.streams[awaits].over
        return sum(str(frame).startswith(awaits) for frame in reader.frames) >= times
    return condition


def converse(case, mode, client):
    for segment in h2_case.segments_of(case):
        for pairs in segment.settings:
            client.reader.sent_settings(pairs)
        for grant in segment.grants:
            client.reader.sent_window_update(*grant)
        send_in_pieces(case, mode, client, segment.octets)
        if segment.awaits is not None:
            client.wait_for(is_there(segment.awaits, segment.times), f"{segment.awaits}", 5)


def settle(case, client):
    """Reads until all that was sent has been looked at and the case's expectation holds, or to the
    deadline. A PING is the barrier; where it must not be sent, a silence is."""
    deadline = time.monotonic() + 5
    ping = case.get("ping", True)
    if ping:
        client.wait_for(lambda reader: reader.settings is not None or client.ended, "SETTINGS")
        client.send(h2.ping(BARRIER))
    while not client.ended and time.monotonic() < deadline:
        settled = BARRIER in client.reader.pongs if ping else not client.receive(SILENCE_S)
        if settled and h2_case.fits(case, client.reader.summary(client.fate())):
            break
        client.receive(0.05)


def run(case, mode, ports):
    """The client behind the case: what came, and how it ended."""
    plain, secure = ports
    client = H2Client(secure if mode == "tls" else plain, tls=mode == "tls", start=False,
                      timeout_s=TIMEOUT_S)
    with client:
        client.reader.heads = set(case.get("heads", ()))
        client.acknowledged = not case.get("ack", True)
        try:
            converse(case, mode, client)
            settle(case, client)
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            pass  # it has refused already; what it said must still be readable
        while not client.ended and client.receive(0):
            pass
        return client


def attempt(case, mode, ports):
    try:
        return run(case, mode, ports)
    except (AssertionError, OSError) as failure:
        return failure


@pytest.fixture(scope="module")
def target(module_servers):
    return module_servers.wire(workers=2, tls=True)


@pytest.fixture(scope="module")
def results(target):
    """By id and mode: what came back, or the failure."""
    validators = fetch_validators(target.port)
    for case in CASES:
        if "of" in case:
            case["send"] = http2_steps(case["of"], validators)
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        running = {(case["id"], mode): pool.submit(attempt, case, mode, target.ports)
                   for case in CASES for mode in MODES}
    return {key: future.result() for key, future in running.items()}


# ---- judging -------------------------------------------------------------------------------------

def check_response(also, reader):
    stream = reader.streams[also["stream"]]
    check_also(also, stream)
    if "interim" in also:
        assert [fields.get(":status") for fields in stream.interim] == also["interim"]


def check_frames(patterns, frames):
    """The patterns are beginnings of frames' descriptions: they come in this order, among others."""
    described = iter(str(frame) for frame in frames)
    for pattern in patterns:
        assert any(text.startswith(pattern) for text in described), f"no {pattern} in its place"


def judge(case, result):
    if isinstance(result, Exception):
        raise result
    actual = result.reader.summary(result.fate())
    assert h2_case.fits(case, actual), f"{case['note']}: got {result.story()}"
    check_frames(case.get("frames", ()), result.reader.frames)
    for also in case.get("also", ()):
        check_response(also, result.reader)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case, mode, results):
    judge(case, results[case["id"], mode])


@pytest.mark.parametrize("case", [case for case in CASES if case.get("everywhere")],
                         ids=lambda case: case["id"])
def test_split_in_two_at_every_octet(case, target):
    length = max(len(segment.octets) for segment in h2_case.segments_of(case))
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        modes = [f"at {at}" for at in range(1, length)]
        for result in pool.map(lambda mode: attempt(case, mode, target.ports), modes):
            judge(case, result)


def test_ids_are_unique():
    ids = [case["id"] for case in CASES]
    assert len(ids) == len(set(ids))


def test_cases_have_no_unknown_keys():
    assert not [case["id"] for case in CASES if set(case) - h2_case.KEYS - {"of"}]


def test_the_target_still_serves_after_all_cases(results, target):
    plain, secure = target.ports
    assert results
    assert ask_once(plain).body == b"Hello, world\r\n"
    assert ask_once(secure, tls=True).body == b"Hello, world\r\n"
