"""`rivulet bench` against servers that do wrong: every request gets the name of what became of it.

Counts are exact wherever the server's script makes them so. In every run the laws must hold (else
the exit status is 70), and what the server counted must agree with what the client says.
"""

import collections
import contextlib
import json
import random
import re
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from support.bench import bench, command
from support.scripted import Scripted, answer, answering, head, refusing
from support.server import ROOT, sanitizer_environment
from support.waiting import wait_until

pytestmark = pytest.mark.alone

OK, USAGE, NO_START, INVALID, INTERRUPTED = 0, 1, 2, 3, 130


@pytest.fixture(name="bench")
def bench_in_folder(tmp_path):
    """`rivulet bench` with these arguments; its result is saved in the test's folder."""
    return lambda *arguments, **options: bench(tmp_path, *arguments, **options)


def assert_counts(run, answered, **failures):
    """So many answers, and exactly these failures."""
    assert run.result is not None, run
    expected = {name: count for name, count in failures.items() if count > 0}
    assert (run.answered, run.failures) == (answered, expected), run
    assert run.failed == sum(failures.values()), run
    assert run.started == run.answered + run.failed + run.in_flight, run
    assert run.status == (OK if answered > 0 else NO_START), run
    assert run.text.splitlines()[1].startswith(run.verdict), run
    assert run.verdict != "VALID" or run.failed == 0, run
    for name, count in run.failures.items():
        assert re.search(rf"(?m)^.{{12}} {count} ", run.text), run
    for cause, counts in counts_by_cause(run.failures).items():
        assert any(re.search(rf"\b{count}\b", run.causes[cause]) for count in counts), run


# Under which cause the report explains a failure.
CAUSES = {
    "connect_refused": "refused",
    "connect_timeout": "accept_queue_overflow",  # the tests know no other
    "head_malformed": "not_http",
    "body_malformed": "not_http",
    "body_long": "not_http",
    "wait_timeout": "timeouts",
    "send_timeout": "timeouts",
    "head_timeout": "timeouts",
    "body_timeout": "timeouts",
}


def counts_by_cause(failures):
    """The counts of a cause's failures, and behind them their sum."""
    counts = collections.defaultdict(list)
    for name, count in failures.items():
        counts[CAUSES.get(name, "broken_off")].append(count)
    return {cause: [*each, sum(each)] for cause, each in counts.items()}


def every_tenth(fault):
    """A script that does its duty, but for every tenth request."""
    def script(conversation):
        for request in conversation.requests():
            if request.number % 10 == 0:
                fault(conversation)
                return
            conversation.send(answer())
    return script


# ---- connecting ----------------------------------------------------------------------------------

def test_refused(bench):
    with refusing() as port:
        run = bench("-n", 100, "-c", 4, f"http://127.0.0.1:{port}/")
    assert run.status == NO_START, run
    assert run.answered == 0 and run.connects == 0, run
    assert list(run.failures) == ["connect_refused"], run
    assert run.verdict == "INVALID", run
    assert run.elapsed_s < 20, run


def test_the_first_of_several_addresses_refuses(bench):
    with Scripted(answering(answer())) as server:
        run = bench("-n", 40, "-c", 4, f"http://several.test:{server.port}/",
                    "--resolve", f"several.test:{server.port}:127.0.0.2,127.0.0.1")
        assert_counts(run, 40)
        assert run.connects == server.connections == 4
        assert run.connects < run.connects_tried <= 8, run
        assert server.heads[0].values("Host") == [f"several.test:{server.port}"]


def test_every_address_refuses(bench):
    with refusing() as port:
        run = bench("-n", 10, "-c", 2, "--resolve", f"several.test:{port}:127.0.0.2,127.0.0.3",
                    f"http://several.test:{port}/")
    assert run.status == NO_START, run
    assert list(run.failures) == ["connect_refused"], run
    assert 2 * run.failed <= run.connects_tried <= 2 * (run.failed + 2), run


def test_a_full_accept_queue(bench):
    """One connection fits into the queue of a server that never accepts; other SYNs are dropped."""
    with Scripted(answering(answer()), backlog=0, accepts=False) as server:
        with socket.create_connection(("127.0.0.1", server.port)):
            run = bench("-n", 3, "-c", 3, "--connect-timeout", "300ms", "--timeout", "600ms",
                        server.url())
    assert_counts(run, 0, connect_timeout=3)


def test_a_name_that_nobody_knows(bench):
    run = bench("-n", 1, "http://no-such-name.invalid/")
    assert run.status == NO_START, run
    assert run.text == "" and run.result is None
    assert len(run.errors.splitlines()) == 1, run
    assert "no-such-name.invalid" in run.errors


# ---- before the answer ---------------------------------------------------------------------------

def test_accepts_and_never_answers(bench):
    with Scripted(lambda conversation: conversation.hold()) as server:
        run = bench("-n", 20, "-c", 5, "--timeout", "300ms", server.url())
        assert_counts(run, 0, wait_timeout=20)
        assert run.verdict == "INVALID", run
        assert run.connects == server.connections == 20
        assert "no answer within the time limit" in run.text
        assert 0.3e6 <= run.times["failing"]["min"] <= run.times["failing"]["max"] < 1e6, run


def test_does_not_even_accept(bench):
    """The kernel takes connections for it."""
    with Scripted(answering(answer()), accepts=False) as server:
        run = bench("-n", 20, "-c", 5, "--timeout", "300ms", server.url())
    assert_counts(run, 0, wait_timeout=20)
    assert run.connects == 20


def test_one_answer_of_ten_never_comes(bench):
    with Scripted(every_tenth(lambda conversation: conversation.hold())) as server:
        run = bench("-n", 100, "-c", 5, "--timeout", "300ms", server.url())
        assert_counts(run, 90, wait_timeout=10)
        assert run.statuses == {200: 90}
        assert server.requests == 100


def test_resets_before_the_first_byte(bench):
    """On connections that were fresh, so that it cannot be the end of an idle one."""
    with Scripted(every_tenth(lambda conversation: conversation.reset())) as server:
        run = bench("-n", 100, "-c", 4, "--no-keepalive", server.url())
        assert_counts(run, 90, wait_reset=10)
        assert run.connects == server.connections == server.requests == 100
        assert run.races == 0


def test_resets_every_connection(bench):
    def script(conversation):
        conversation.request()
        conversation.reset()
    with Scripted(script) as server:
        run = bench("-n", 30, "-c", 3, server.url())
        assert_counts(run, 0, wait_reset=30)
        assert server.connections == 30


def test_closes_before_the_first_byte(bench):
    with Scripted(every_tenth(lambda conversation: conversation.fin())) as server:
        run = bench("-n", 100, "-c", 4, "--no-keepalive", server.url())
        assert_counts(run, 90, wait_closed=10)
        assert server.requests == 100


def resets_its_tenth(conversation):
    """Nine answers on each connection, and an RST in the place of the tenth."""
    for _ in range(9):
        if conversation.request() is None:
            return
        conversation.send(answer())
    conversation.request()
    conversation.reset()


def test_a_request_that_met_the_end_of_an_idle_connection_is_sent_again(bench):
    with Scripted(resets_its_tenth) as server:
        run = bench("--quota", 30, "-c", 4, server.url())
        assert_counts(run, 120)
        assert re.search(r"\b12\b", run.causes["keep_alive_race"]), run
        assert run.races == 12  # 9 + 9 + 9 + 3 answers on the four connections of each client
        assert server.requests == 132
        assert run.connects == server.connections == 16


def test_a_post_is_not_sent_again(bench):
    """It might be done twice (RFC 9110 section 9.2.2)."""
    with Scripted(resets_its_tenth) as server:
        run = bench("--quota", 30, "-c", 4, "-d", "a=b", server.url())
        assert_counts(run, 108, wait_reset=12)
        assert server.requests == 120 and run.races == 0


# ---- in the head ---------------------------------------------------------------------------------

def test_resets_in_the_head(bench):
    def fault(conversation):
        conversation.send(answer()[:20])
        conversation.reset()
    with Scripted(every_tenth(fault)) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 90, head_reset=10)
        assert server.requests == 100


def test_closes_in_the_head(bench):
    def fault(conversation):
        conversation.send(answer()[:20])
        conversation.fin()
    with Scripted(every_tenth(fault)) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 90, head_closed=10)


def test_stops_in_the_head(bench):
    def fault(conversation):
        conversation.send(answer()[:20])
        conversation.hold()
    with Scripted(every_tenth(fault)) as server:
        run = bench("-n", 100, "-c", 5, "--timeout", "300ms", server.url())
        assert_counts(run, 90, head_timeout=10)


@pytest.mark.parametrize("octets", [
    b"SSH-2.0-OpenSSH_9.2\r\n",
    b"<html>HTTP/0.9</html>",
    b"\x15\x03\x03\x00\x02\x02\x46",
    b"\0" * 100,
    b"HTTP/2.0 200 OK\r\n\r\n",
    b"HTTP/1.1 2000 OK\r\n\r\n",
    b"HTTP/1.1 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nNo colon\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 70000,
], ids=lambda octets: repr(octets[:36]))
def test_garbage(bench, octets):
    def fault(conversation):
        conversation.send(octets)
        conversation.hold()
    with Scripted(every_tenth(fault)) as server:
        run = bench("-n", 50, "-c", 2, server.url())
        assert_counts(run, 45, head_malformed=5)
        assert server.requests == 50


def test_a_head_may_come_octet_by_octet(bench):
    def script(conversation):
        for _ in conversation.requests():
            for octet in answer(b"Hello", "X: y\r\n"):
                conversation.send(bytes([octet]))
    with Scripted(script) as server:
        run = bench("-n", 20, "-c", 2, server.url())
        assert_counts(run, 20)
        assert run.content_octets == 100
        assert run.received_octets == 20 * len(answer(b"Hello", "X: y\r\n"))
        assert run.connects == 2


# ---- in the body ---------------------------------------------------------------------------------

def part_of_a_body(octets, then):
    """Three octets of five, or a megabyte of five, and then a fault."""
    def fault(conversation):
        conversation.send(head(f"Content-Length: {octets}\r\n"))
        conversation.send_zeros(octets * 3 // 5)
        then(conversation)
    return fault


BODIES = pytest.mark.parametrize("octets", [5, 5 << 20], ids=["small", "large"])


@BODIES
def test_resets_in_the_body(bench, octets):
    def then(conversation):
        conversation.wait(0.1)
        conversation.reset()
    with Scripted(every_tenth(part_of_a_body(octets, then))) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 90, body_reset=10)
        assert server.requests == 100
        assert run.content_octets == 180
        assert "reset in the body" in run.text


@BODIES
def test_resets_right_behind_a_part_of_the_body(bench, octets):
    """What arrived before the RST counts as arrived."""
    with Scripted(every_tenth(part_of_a_body(octets, lambda c: c.reset()))) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 90, body_reset=10)


@BODIES
def test_a_short_body(bench, octets):
    with Scripted(every_tenth(part_of_a_body(octets, lambda c: c.fin()))) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 90, body_short=10)
        assert server.requests == 100


@BODIES
def test_stops_in_the_body(bench, octets):
    with Scripted(every_tenth(part_of_a_body(octets, lambda c: c.hold()))) as server:
        run = bench("-n", 100, "-c", 5, "--timeout", "1s", server.url())
        assert_counts(run, 90, body_timeout=10)


def test_a_body_that_drips(bench):
    """Octets that come now and then are no reason to wait longer."""
    def fault(conversation):
        conversation.send(head("Content-Length: 1000\r\n"))
        for _ in range(1000):
            conversation.send(b"x")
            conversation.wait(0.03)
    with Scripted(every_tenth(fault)) as server:
        run = bench("-n", 50, "-c", 5, "--timeout", "400ms", server.url())
        assert_counts(run, 45, body_timeout=5)


def test_interim_answers_without_end(bench):
    def fault(conversation):
        while True:
            conversation.send(head(status="102 Processing") * 10)
            conversation.wait(0.01)
    with Scripted(every_tenth(fault)) as server:
        run = bench("-n", 50, "-c", 5, "--timeout", "400ms", server.url())
        assert_counts(run, 45, head_timeout=5)
        assert run.interim > 50


@pytest.mark.parametrize("body", [b"Ok", bytes(5000), bytes(300000)], ids=len)
def test_a_long_body(bench, body):
    def fault(conversation):
        conversation.send(answer(body) + b"and more")
        conversation.hold()
    with Scripted(every_tenth(fault)) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 90, body_long=10)
        assert server.requests == 100


@pytest.mark.parametrize("body", [
    b"5\r\nhelloX\r\n0\r\n\r\n",
    b"xyz\r\nhello\r\n0\r\n\r\n",
    b"-5\r\nhello\r\n0\r\n\r\n",
    b"5\r\nhello\r\n0\r\nNo colon\r\n\r\n",
    b"10000000000000000\r\nhello",
], ids=repr)
def test_a_bad_chunk(bench, body):
    def fault(conversation):
        conversation.send(head("Transfer-Encoding: chunked\r\n"), body)
        conversation.hold()
    with Scripted(every_tenth(fault)) as server:
        run = bench("-n", 50, "-c", 2, server.url())
        assert_counts(run, 45, body_malformed=5)


def test_ends_within_chunks(bench):
    def fault(conversation):
        conversation.send(head("Transfer-Encoding: chunked\r\n"), b"5\r\nhello\r\n")
        conversation.fin()
    with Scripted(every_tenth(fault)) as server:
        run = bench("-n", 50, "-c", 2, server.url())
        assert_counts(run, 45, body_short=5)


# ---- answers that are right, though unusual ------------------------------------------------------

def test_closes_after_each_answer_without_saying_so(bench):
    def script(conversation):
        conversation.request()
        conversation.send(answer())
        conversation.fin()
    with Scripted(script) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 100)
        assert run.statuses == {200: 100}
        assert server.requests == 100
        assert 100 <= run.connects == server.connections <= 104


def test_closes_carelessly_after_each_answer(bench):
    """Its RST meets the next request of a client, if that was fast."""
    def script(conversation):
        conversation.request()
        conversation.send(answer())
    with Scripted(script) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 100)
        assert run.connects == server.connections


@pytest.mark.parametrize("says_so", [True, False])
def test_closes_after_ten_answers(bench, says_so):
    def script(conversation):
        for i in range(1, 11):
            if conversation.request() is None:
                return
            says = says_so and i == 10
            conversation.send(answer(fields="Connection: close\r\n" if says else ""))
        conversation.fin()
    with Scripted(script) as server:
        run = bench("--quota", 50, "-c", 4, server.url())
        assert_counts(run, 200)
        assert server.requests == 200
        assert 20 <= run.connects == server.connections <= 24
        assert 16 <= run.reopened <= 20, run
        if says_so:
            assert run.connects == 20 and run.races == 0
            assert run.kept_alive == 180


def test_interim_answers_are_passed_over(bench):
    interim = head(status="100 Continue") + head("Link: </style.css>\r\n", "103 Early Hints")
    with Scripted(answering(interim + answer(b"Hello"))) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 100)
        assert run.statuses == {200: 100}
        assert run.interim == 200
        assert run.content_octets == 500
        assert run.connects == 4


def test_an_interim_answer_is_not_the_first_byte(bench):
    def script(conversation):
        for _ in conversation.requests():
            conversation.send(head(status="103 Early Hints"))
            conversation.wait(0.2)
            conversation.send(answer())
    with Scripted(script) as server:
        run = bench("-n", 4, "-c", 2, server.url())
        assert_counts(run, 4)
        assert run.times["wait"]["min"] >= 190000, run.times["wait"]


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_answers_without_content(bench, status):
    """Whatever their fields say."""
    fields = "" if status.startswith("204") else "Content-Length: 1000\r\n"
    with Scripted(answering(head(fields, status))) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 100)
        assert run.statuses == {int(status[:3]): 100}
        assert run.content_octets == 0
        assert run.connects == server.connections == 4


def test_answers_to_head(bench):
    with Scripted(answering(head("Content-Length: 1000\r\n"))) as server:
        run = bench("-n", 100, "-c", 4, "-I", server.url())
        assert_counts(run, 100)
        assert run.connects == server.connections == 4
        assert {request.method for request in server.heads} == {"HEAD"}


@pytest.mark.parametrize("octets", [0, 7, 300000])
def test_bodies_that_end_with_the_connection(bench, octets):
    def script(conversation):
        conversation.request()
        conversation.send(head())
        conversation.send_zeros(octets)
        conversation.fin()
    with Scripted(script) as server:
        run = bench("-n", 40, "-c", 4, server.url())
        assert_counts(run, 40)
        assert run.content_octets == 40 * octets
        assert run.connects == server.connections == 40
        assert run.kept_alive == 0


def test_chunked_bodies(bench):
    body = b"5;x=y\r\nhello\r\n1000\r\n" + bytes(0x1000) + b"\r\n0\r\nX-T: 1\r\n\r\n"
    with Scripted(answering(head("Transfer-Encoding: chunked\r\n") + body)) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 100)
        assert run.content_octets == 100 * 0x1005
        assert run.connects == server.connections == 4


def test_lines_that_end_with_lf_alone(bench):
    with Scripted(answering(answer(b"Hello", "X: y\r\n").replace(b"\r\n", b"\n"))) as server:
        run = bench("-n", 20, "-c", 2, server.url())
        assert_counts(run, 20)
        assert run.content_octets == 100
        assert run.connects == 2


def test_answers_of_http_1_0(bench):
    """Such a server keeps a connection only when it says so."""
    with Scripted(answering(answer(version="1.0", fields="Connection: Keep-Alive\r\n"))) as server:
        run = bench("-n", 20, "-c", 2, server.url())
        assert_counts(run, 20)
        assert run.connects == server.connections == 2
    with Scripted(answering(answer(version="1.0"))) as server:
        run = bench("-n", 20, "-c", 2, server.url())
        assert_counts(run, 20)
        assert run.connects == server.connections == 20


@pytest.mark.parametrize("at_once", [True, False])
def test_a_body_that_comes_behind_its_head(bench, at_once):
    """By the 40 ms of a delayed ACK: the report knows the look of it."""
    def script(conversation):
        for _ in conversation.requests():
            conversation.send(head("Content-Length: 2\r\n"))
            if not at_once:
                conversation.wait(0.041)
            conversation.send(b"Ok")
    with Scripted(script) as server:
        run = bench("-n", 40, "-c", 4, server.url())
        assert_counts(run, 40)
        assert ("delayed_ack" in run.causes) == (not at_once), run
        if not at_once:
            assert run.times["transfer"]["p50"] > 38000 > run.times["wait"]["p50"], run.times


FIVE_GB = 5_000_000_000


def test_five_gigabytes_that_were_promised(bench):
    def script(conversation):
        conversation.request()
        conversation.send(head(f"Content-Length: {FIVE_GB}\r\n"))
        conversation.send_zeros(1 << 20)
        conversation.fin()
    with Scripted(script) as server:
        run = bench("-n", 2, "-c", 1, server.url())
        assert_counts(run, 0, body_short=2)
        assert run.received_octets > 2 << 20


@pytest.mark.slow
def test_five_gigabytes(bench):
    def script(conversation):
        for _ in conversation.requests():
            conversation.send(head(f"Content-Length: {FIVE_GB}\r\n"))
            conversation.send_zeros(FIVE_GB)
    with Scripted(script) as server:
        run = bench("-n", 1, "-c", 1, "--timeout", "100s", server.url(), timeout_s=120)
        assert_counts(run, 1)
        assert run.content_octets == FIVE_GB


# ---- what is no failure of the server, but must be seen ------------------------------------------

def test_nothing_but_404(bench):
    with Scripted(answering(answer(b"no such page", status="404 Not Found"))) as server:
        run = bench("-n", 100, "-c", 4, server.url("/no-such-page"))
        assert_counts(run, 100)
        assert run.statuses == {404: 100}
        assert any("404" in reason for reason in run.reasons), run
        assert "100 x 404" in run.causes["error_answers"]
        assert run.connects == 4


def test_some_answers_are_errors(bench):
    def script(conversation):
        for request in conversation.requests():
            conversation.send(answer() if request.number % 10 else
                              answer(b"busy", status="503 Service Unavailable"))
    with Scripted(script) as server:
        run = bench("-n", 100, "-c", 4, server.url())
        assert_counts(run, 100)
        assert run.statuses == {200: 90, 503: 10}
        assert "503" in run.text


@pytest.mark.parametrize("ending", ["fin", "reset"])
def test_an_idle_connection_that_ends_is_no_failure(bench, ending):
    def script(conversation):
        conversation.request()
        conversation.send(answer())
        conversation.wait(0.05)
        getattr(conversation, ending)()
    with Scripted(script) as server:
        run = bench("--quota", 4, "-c", 4, "--think", "200ms", server.url())
        assert_counts(run, 16)
        assert run.connects == server.connections == server.requests == 16
        assert run.races == 0 and 12 <= run.reopened <= 16, run


# ---- a server that goes away ---------------------------------------------------------------------

def test_goes_away_in_the_middle_and_comes_back(bench):
    answered = threading.Semaphore(0)

    def script(conversation):
        for request in conversation.requests():
            conversation.send(answer())
            if request.number == 50:
                answered.release()
    with Scripted(script) as server:
        def interrupt():
            answered.acquire(timeout=30)
            server.go_away()
            time.sleep(0.5)
            server.listen()
        thread = threading.Thread(target=interrupt)
        thread.start()
        run = bench("-n", 2000, "-c", 4, server.url())
        thread.join()
        assert run.status == OK, run
        assert run.started == 2000 == run.answered + run.failed
        assert set(run.failures) <= {
            "connect_refused", "connect_reset", "wait_closed", "wait_reset"}, run
        assert 0 < run.failures["connect_refused"] < 200, run  # it does not hammer at the door
        assert "gone for a while" in run.causes["refused"]
        assert run.answered > 1500
        assert server.requests >= run.answered
        assert run.elapsed_s < 30


def test_goes_away_for_good(bench):
    """The run ends all the same, by its time."""
    def script(conversation):
        for request in conversation.requests():
            conversation.send(answer())
            if request.number == 50:
                threading.Thread(target=conversation.server.go_away).start()
    with Scripted(script) as server:
        run = bench("-t", "2s", "-c", 4, server.url())
        assert run.answered >= 50 and run.failures["connect_refused"] > 0, run
        assert run.status == (INVALID if run.verdict == "INVALID" else OK), run
        assert 1.9 < run.elapsed_s < 10
        assert run.verdict != "VALID", run


@contextlib.contextmanager
def stopped_for_a_second(server):
    """SIGSTOP, a second from now."""
    def interrupt():
        time.sleep(1)
        server.signal(signal.SIGSTOP)
        time.sleep(1)
        server.signal(signal.SIGCONT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        server.signalled = False


def test_stopped_for_a_second(bench, servers):
    """One request of the only client takes that second."""
    demo = servers.demo("--workers", "1")
    with stopped_for_a_second(demo):
        run = bench("-t", "3s", "-c", 1, demo.url("/ok"))
    assert run.status == OK and run.failed == 0, run
    assert 0.8e6 < run.total["max"] < 1.6e6, run.total
    assert run.total["p50"] < 0.1e6


def test_stopped_for_a_second_under_a_schedule(bench, servers):
    """Requests that were due meanwhile have waited, each for its part of the second."""
    demo = servers.demo("--workers", "1")
    with stopped_for_a_second(demo):
        run = bench("-t", "4s", "-R", 200, demo.url("/ok"))
    assert run.status == OK and run.failed == 0, run
    assert 795 <= run.due <= 801, run
    assert run.answered + run.in_flight + run.not_started == run.due
    # 200 of 800 met the stop: those due at its beginning have waited longest.
    assert 0.8e6 < run.total["max"] < 1.6e6, run.total
    assert 0.4e6 < run.total["p90"] < 1.2e6, run.total
    assert run.total["p50"] < 0.1e6, run.total


def test_a_slow_schedule_asks_exactly_as_often_as_it_says(bench):
    with Scripted(answering(answer())) as server:
        run = bench("-t", "2s", "-R", 50, server.url())
        assert run.status == OK, run
        assert abs(server.requests - 100) <= 1 and run.started == server.requests
        assert run.answered + run.in_flight == run.started


def test_a_schedule_of_a_server_that_is_not_there(bench):
    with refusing() as port:
        run = bench("-t", "1s", "-R", 200, f"127.0.0.1:{port}/")
    assert run.status == NO_START and run.answered == 0, run
    assert list(run.failures) == ["connect_refused"], run
    assert run.due == run.started + run.not_started, run
    assert run.started == run.failed + run.in_flight, run
    assert run.elapsed_s < 5


def test_a_schedule_of_a_server_that_never_answers(bench):
    """What cannot be sent is counted, and not forgotten."""
    with Scripted(lambda conversation: conversation.hold()) as server:
        run = bench("-t", "1s", "-R", 100, "--max-clients", 10, server.url())
        assert 98 <= run.due <= 101, run
        assert run.started == run.in_flight == 10, run
        assert run.not_started == run.due - 10
        assert run.connects == server.connections == 10
        assert "never began" in " ".join(run.reasons), run


# ---- everything at once --------------------------------------------------------------------------

def then(step, *octets):
    """Sends these octets and ends in this way."""
    def act(conversation):
        conversation.send(*octets)
        step(conversation)
    return act


CHUNKED = head("Transfer-Encoding: chunked\r\n")
FIN, RST = (lambda conversation: conversation.fin()), (lambda conversation: conversation.reset())

# What a server may do to a request, and what it is to be called: a failure, or a status.
DEEDS = [
    ("head_reset", then(RST, b"HTTP/1.1 20")),
    ("head_closed", then(FIN, b"HTTP/1.1 200 OK\r\nConn")),
    ("head_malformed", then(FIN, b"HTTP/1.1 twohundred OK\r\n\r\n")),
    ("body_reset", then(RST, head("Content-Length: 10\r\n"), b"12345")),
    ("body_reset", then(RST, CHUNKED, b"5\r\nhello\r\n0\r\n")),
    ("body_reset", then(RST, head(), b"until the close, they said")),
    ("body_short", then(FIN, head("Content-Length: 10\r\n"), b"12345")),
    ("body_short", then(FIN, CHUNKED, b"A\r\nhello")),
    ("body_malformed", then(FIN, CHUNKED, b"5\r\nhello5\r\nhello\r\n")),
    ("body_long", then(FIN, answer(b"12345") + b"6")),
    (200, then(FIN, head(), b"until the close")),
    (404, then(FIN, answer(b"none", "Connection: close\r\n", "404 Not Found"))),
    (200, then(FIN, answer())),
]
KEPT = [
    (200, answer()),
    (200, CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"),
    (204, head(status="204 No Content")),
    (503, head(status="100 Continue") + answer(b"busy", status="503 Busy")),
]
FRESH = [
    ("wait_reset", RST),
    ("wait_closed", FIN),
]


@pytest.mark.parametrize("connection", ["kept", "new", "pipelined"])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_fault_at_random(bench, connection, threads):
    """Whatever a server does, and in whatever order: the client tells it as it was."""
    chance = random.Random(threads)
    lock, done = threading.Lock(), collections.Counter()
    endings = {"kept": DEEDS, "new": DEEDS + FRESH,
               # What is behind a pipelined answer is taken for the next one.
               "pipelined": [deed for deed in DEEDS if deed[0] != "body_long"]}[connection]
    arguments = {"kept": [], "new": ["--no-keepalive"], "pipelined": ["--pipeline", 4]}[connection]

    def script(conversation):
        for _ in conversation.requests():
            with lock:
                deed, act = chance.choice(endings) if chance.random() < 0.4 else (None, None)
                if deed is None:
                    deed, octets = chance.choice(KEPT)
                done[deed] += 1
            if act is not None:
                act(conversation)
                return
            conversation.send(octets)
    with Scripted(script) as server:
        run = bench("-n", 500, "-c", 8, "--threads", threads, *arguments, server.url())
        failed = {deed: count for deed, count in done.items() if isinstance(deed, str)}
        answered = {deed: count for deed, count in done.items() if isinstance(deed, int)}
        assert_counts(run, sum(answered.values()), **failed)
        assert run.statuses == answered
        assert server.requests == 500
        assert run.connects == server.connections


SEEDS = sorted((ROOT / "tests/fuzz/corpus/fuzz_response").iterdir())


def mutated(chance):
    """What a server might send, with some of it changed, left out or said twice."""
    octets = bytearray(chance.choice(SEEDS).read_bytes()[2:])
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(octets))
        octets[at:at + chance.randrange(4)] = chance.choice(
            [b"", b"\r\n", b"\0", b"9", bytes(octets[at:at + 9]), chance.randbytes(3)])
    return bytes(octets)


@pytest.mark.parametrize("arguments", [[], ["--pipeline", 3], ["--no-keepalive"]], ids=str)
def test_random_octets(bench, arguments):
    """Nobody knows what they are to be called; but nothing breaks, and nothing is lost."""
    chance = random.Random(len(arguments))

    def script(conversation):
        for _ in conversation.requests():
            octets = mutated(chance)
            while octets:
                length = chance.choice([1, 7, 1000])
                conversation.send(octets[:length])
                octets = octets[length:]
            if chance.random() < 0.3:
                chance.choice([conversation.fin, conversation.reset])()
    with Scripted(script) as server:
        run = bench("-n", 600, "-c", 8, "--threads", 2, "--timeout", "50ms", *arguments,
                    server.url())
        assert run.status == (INVALID if run.failed > run.answered else OK), run
        assert run.started == 600 == run.answered + run.failed, run
        assert {"head_malformed", "body_malformed"} <= set(run.failures), run
        assert run.connects == server.connections


# ---- the end of a run ----------------------------------------------------------------------------

def test_what_is_under_way_at_the_end_is_counted(bench):
    with Scripted(lambda conversation: conversation.hold()) as server:
        run = bench("-t", "1s", "-c", 5, server.url())
        assert run.started == run.in_flight == 5, run
        assert run.answered == run.failed == 0
        assert run.times["unfinished"]["count"] == 5
        assert run.times["unfinished"]["min"] > 0.9e6
        assert run.elapsed_s < 10
        assert run.status == NO_START, run
        assert "5 without an answer at the end" in run.text
        assert server.connections == 5


def test_some_are_under_way_at_the_end(bench):
    def script(conversation):
        if conversation.number > 3:
            conversation.hold()
        for _ in conversation.requests():
            conversation.send(answer())
            conversation.wait(0.01)
    with Scripted(script) as server:
        run = bench("-t", "1s", "-c", 5, server.url())
        assert run.status == OK and run.failed == 0, run
        assert 2 <= run.in_flight <= 5
        assert run.started == run.answered + run.in_flight
        # The two held connections have not read theirs, and the others perhaps not their last ones.
        assert server.requests + 2 <= run.started <= server.requests + 5, run


def test_an_interrupt_ends_the_run_with_its_report(tmp_path):
    saved = tmp_path / "result.json"
    with Scripted(answering(answer())) as server:
        process = subprocess.Popen(
            command("-t", "60s", "-c", 2, "-o", saved, server.url()), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=sanitizer_environment())
        wait_until(lambda: server.requests >= 100, 20, "a hundred requests")
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=20)
        assert process.returncode == INTERRUPTED, errors
        result = json.loads(saved.read_bytes())
        assert result["end"] == "interrupted"
        assert result["requests"]["answered"] >= 100 and result["requests"]["failed"] == 0
        assert "interrupted" in text.splitlines()[1]


# ---- connections ---------------------------------------------------------------------------------

def test_a_client_keeps_its_connection(bench):
    """Bodies are read to their ends, large ones too, so that connections can be used again."""
    with Scripted(answering(answer(bytes(200000)))) as server:
        run = bench("-n", 80, "-c", 8, server.url())
        assert_counts(run, 80)
        assert run.connects == server.connections == 8
        assert run.content_octets == 80 * 200000
        assert run.reopened == run.races == 0
        assert run.received_octets == 80 * len(answer(bytes(200000)))


def test_a_new_connection_for_each_request(bench):
    with Scripted(answering(answer())) as server:
        run = bench("-n", 60, "-c", 6, "--no-keepalive", server.url())
        assert_counts(run, 60)
        assert run.connects == server.connections == 60
        assert server.heads[0].values("Connection") == ["close"]


def test_a_new_connection_after_five_requests(bench):
    with Scripted(answering(answer())) as server:
        run = bench("--quota", 20, "-c", 3, "--requests-per-connection", 5, server.url())
        assert_counts(run, 60)
        assert run.connects == server.connections == 12
        assert run.reopened == 0


def test_pipelined_requests_of_a_server_that_closes(bench):
    """Those that it has not answered are sent again."""
    def script(conversation):
        for _ in range(3):
            if conversation.request() is None:
                return
            conversation.send(answer())
        conversation.fin()
    with Scripted(script) as server:
        run = bench("-n", 60, "-c", 2, "--pipeline", 4, server.url())
        assert_counts(run, 60)
        assert server.requests == 60


def test_pipelined_answers_are_told_apart(bench):
    def script(conversation):
        while conversation.request() is not None:
            if conversation.request() is None:
                return
            conversation.send(answer(b"one") + answer(b"and two", status="404 Not Found"))
    with Scripted(script) as server:
        run = bench("-n", 80, "-c", 2, "--pipeline", 4, server.url())
        assert_counts(run, 80)
        assert run.statuses == {200: 40, 404: 40}
        assert run.connects == server.connections == 2


def test_a_408_to_nobody_is_a_close(bench):
    """A server that tires of an idle connection may say so before it closes."""
    def script(conversation):
        conversation.request()
        conversation.send(answer())
        conversation.wait(0.05)
        conversation.send(answer(status="408 Request Timeout", fields="Connection: close\r\n"))
        conversation.fin()
    with Scripted(script) as server:
        run = bench("-n", 20, "-c", 4, "--think", "200ms", server.url())
        assert_counts(run, 20)
        assert run.statuses == {200: 20}
        assert server.requests == 20
        assert run.races == 0


def test_an_early_413(bench, tmp_path):
    """The answer comes while the body is being sent; the server reads on, as it should."""
    body = tmp_path / "body"
    body.write_bytes(bytes(8 << 20))

    def script(conversation):
        conversation.request(body=False)
        conversation.send(answer(b"too large", status="413 Content Too Large",
                                 fields="Connection: close\r\n"))
        conversation.fin()
    with Scripted(script) as server:
        run = bench("-n", 10, "-c", 2, "-d", f"@{body}", server.url())
        assert_counts(run, 10)
        assert run.statuses == {413: 10}
        assert server.connections == 10


def test_an_early_413_and_a_careless_close(bench, tmp_path):
    """Its RST may destroy the answer on its way: that is the server's doing, and is named so."""
    body = tmp_path / "body"
    body.write_bytes(bytes(8 << 20))

    def script(conversation):
        conversation.request(body=False)
        conversation.send(answer(b"too large", status="413 Content Too Large",
                                 fields="Connection: close\r\n"))
    with Scripted(script) as server:
        run = bench("-n", 10, "-c", 2, "-d", f"@{body}", server.url())
        assert run.started == 10 == run.answered + run.failed, run
        assert set(run.statuses) <= {413}
        assert set(run.failures) <= {"send_reset", "wait_reset"}, run


def test_an_answer_that_is_faster_than_its_request(bench, tmp_path):
    """The connection goes on behind the rest of the body."""
    body = tmp_path / "body"
    body.write_bytes(bytes(4 << 20))

    def script(conversation):
        while (request := conversation.request(body=False)) is not None:
            conversation.send(answer())
            conversation.skip(request.length)
    with Scripted(script) as server:
        run = bench("-n", 20, "-c", 2, "-d", f"@{body}", server.url())
        assert_counts(run, 20)
        assert run.connects == server.connections == 2
        assert server.requests == 20
        # The end of the run does not wait for what is left of the last bodies.
        assert 18 * len(body.read_bytes()) < server.octets <= run.sent_octets


def test_a_body_that_nobody_takes(bench, tmp_path):
    body = tmp_path / "body"
    body.write_bytes(bytes(32 << 20))

    def script(conversation):
        conversation.request(body=False)
        conversation.server.over.wait(10)
    with Scripted(script) as server:
        run = bench("-n", 2, "-c", 2, "--timeout", "500ms", "-d", f"@{body}", server.url())
        assert_counts(run, 0, send_timeout=2)


# ---- what is asked for ---------------------------------------------------------------------------

def test_a_url_without_scheme_and_path(bench):
    with Scripted(answering(answer())) as server:
        run = bench("-n", 4, "-c", 2, f"127.0.0.1:{server.port}")
        assert_counts(run, 4)
        assert server.heads[0].target == "/"
        assert server.heads[0].values("Host") == [f"127.0.0.1:{server.port}"]
        run = bench("-n", 4, "-c", 2, f"127.0.0.1:{server.port}?a=b")
        assert_counts(run, 4)
        assert server.heads[-1].target == "/?a=b"


def test_an_ipv6_literal_has_its_brackets(bench):
    try:
        server = Scripted(answering(answer()), address=("::1", 0))
    except OSError:
        pytest.skip("this machine has no ::1")
    with server:
        run = bench("-n", 10, "-c", 2, server.url("/x"))
        assert_counts(run, 10)
        assert server.heads[0].values("Host") == [f"[::1]:{server.port}"]


@pytest.mark.parametrize("arguments, names", [
    ([], "URL"),
    (["-c", "x", "127.0.0.1:1/"], "-c"),
    (["-c", "0", "127.0.0.1:1/"], "-c"),
    (["-n", "-5", "127.0.0.1:1/"], "-n"),
    (["-t", "soon", "127.0.0.1:1/"], "-t"),
    (["--no-such-option", "127.0.0.1:1/"], "--no-such-option"),
    (["-c"], "-c"),
    (["-R", "10", "-c", "5", "127.0.0.1:1/"], "-R and -c|-c and -R"),
    (["-n", "1", "ftp://127.0.0.1/"], "ftp"),
    (["-n", "1", "--cacert", "x.pem", "http://127.0.0.1/"], "--cacert"),
    (["-n", "1", "http://"], "http://"),
    (["-n", "1", "http://127.0.0.1:99999/"], "99999"),
    (["-n", "1", "-H", "No colon", "127.0.0.1:1/"], "No colon"),
], ids=str)
def test_wrong_options(bench, arguments, names):
    run = bench(*arguments)
    assert run.status == USAGE, run
    assert run.text == "" and run.result is None
    assert len(run.errors.splitlines()) == 1, run
    assert re.search(names, run.errors), run
    assert run.elapsed_s < 10


def test_more_clients_than_descriptors(bench):
    """It says so before it starts, and what to do."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    with Scripted(answering(answer())) as server:
        run = bench("-n", 1000, "-c", 500, server.url(), preexec_fn=limit)
        assert run.status == NO_START, run
        assert "descriptor" in run.errors and "500" in run.errors, run
        assert server.requests == 0
