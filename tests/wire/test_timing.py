"""Facts of the wire that need time, volume or a second connection: deadlines, stalls, order.

The limits are short here. A deadline has an exact lower bound, because nothing may be cut early;
its upper bound is loose, because the machine may be busy. run_timing.c has them exactly, on a clock
that stands still.
"""

import concurrent.futures
import email.utils
import itertools
import pathlib
import re
import threading
import time

import pytest

from support.client import GET, Client, ask_once, get, post, pour_in
from support.processes import descriptors, resident_bytes, sockets, threads
from support.waiting import wait_until

pytestmark = pytest.mark.alone

LATE_S = 3.0  # how much later than a deadline is still in time on a busy machine
MIB = 1 << 20


def counters(server):
    lines = ask_once(server.port, get("/counters")).body.decode().splitlines()
    return {name: int(value) for name, value in (line.split() for line in lines)}


def end_of(client):
    """Seconds until the server has ended the connection, and what it said before."""
    started = time.monotonic()
    octets = client.rest(30)
    return time.monotonic() - started, octets


# ---- silence between requests --------------------------------------------------------------------

def test_an_idle_connection_is_closed_at_its_time_and_not_before(servers):
    server = servers.wire(idle_timeout_ms=1000)
    with Client(server.port) as client:
        client.ask(GET)
        assert 0.9 <= client.end_s(1 + LATE_S) < 1 + LATE_S
    assert counters(server)["idle_timeouts"] == 1


def test_each_response_starts_the_idle_time_anew(servers):
    server = servers.wire(idle_timeout_ms=1000)
    with Client(server.port) as client:
        for _ in range(4):
            client.ask(GET)
            assert client.is_silent(0.5)
        client.ask(GET)
        assert client.end_s(1 + LATE_S) >= 0.9


def test_an_idle_end_says_nothing(servers):
    server = servers.wire(idle_timeout_ms=300)
    with Client(server.port) as client:
        client.ask(GET)
        assert end_of(client)[1] == b""


def test_idle_time_does_not_run_while_a_handler_is_late(servers):
    server = servers.wire(idle_timeout_ms=300)
    assert ask_once(server.port, get("/slow?ms=1200")).body == b"slept\n"


def test_timeouts_work_on_a_server_that_has_nothing_else_to_do(servers):
    server = servers.wire(idle_timeout_ms=500, workers=1)
    clients = [Client(server.port) for _ in range(20)]
    for client in clients:
        client.ask(GET)
    for client in clients:
        client.end_s(1 + LATE_S)
        client.close()


@pytest.mark.slow
def test_a_request_at_the_moment_of_expiry_is_answered_or_finds_a_clean_end(servers):
    server = servers.wire(idle_timeout_ms=200)
    for step in range(40):
        with Client(server.port) as client:
            client.ask(GET)
            time.sleep(0.18 + step * 0.001)
            try:
                client.send(GET)
            except (BrokenPipeError, ConnectionResetError):
                continue  # its FIN was there before: the client could have seen it
            try:
                octets = client.rest(5)
            except ConnectionResetError:
                continue
            assert octets == b"" or octets.endswith(b"Hello, world\r\n")


# ---- slow heads ----------------------------------------------------------------------------------

def test_half_a_head_gets_408_at_the_deadline(servers):
    server = servers.wire(head_timeout_ms=800)
    with Client(server.port) as client:
        client.send(b"GET / HT")
        seconds, octets = end_of(client)
        assert octets.startswith(b"HTTP/1.1 408 ")
        assert 0.7 <= seconds < 0.8 + LATE_S
    assert counters(server)["head_timeouts"] == 1


def test_an_octet_now_and_then_does_not_extend_the_head_deadline(servers):
    server = servers.wire(head_timeout_ms=1000)
    with Client(server.port) as client:
        started = time.monotonic()
        for octet in itertools.cycle(b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n"):
            if time.monotonic() - started > 1 + LATE_S or client.receive(0.1):
                break
            client.send(bytes([octet]))
        assert client.rest().startswith(b"HTTP/1.1 4")
        assert 0.9 <= time.monotonic() - started < 1 + LATE_S


def test_a_connection_that_sends_nothing_ends_at_the_head_deadline(servers):
    server = servers.wire(head_timeout_ms=800, idle_timeout_ms=60000)
    with Client(server.port) as client:
        seconds, octets = end_of(client)
        assert octets == b"" or octets.startswith(b"HTTP/1.1 408 ")
        assert 0.7 <= seconds < 0.8 + LATE_S


def test_the_head_deadline_begins_anew_with_each_request(servers):
    server = servers.wire(head_timeout_ms=700, idle_timeout_ms=10000)
    with Client(server.port) as client:
        for _ in range(3):
            client.send(GET[:10])
            assert client.is_silent(0.4)
            client.ask(GET[10:])
        assert client.is_silent(1.2)
        client.send(b"GET")
        seconds, octets = end_of(client)
        assert octets.startswith(b"HTTP/1.1 408 ")
        assert 0.6 <= seconds < 0.7 + LATE_S


# ---- slow bodies ---------------------------------------------------------------------------------

@pytest.mark.parametrize("path", ["/echo", "/echo-stream"])
def test_a_body_that_hardly_moves_gets_408_or_the_end(servers, path):
    server = servers.wire(body_rate_min=1000, body_grace_ms=1000)
    with Client(server.port) as client:
        client.send(post(path, b"x" * 1000)[:-1000])
        started = time.monotonic()
        while time.monotonic() - started < 2 + LATE_S and not client.receive(0.1):
            client.send(b"x")
        assert client.rest().startswith(b"HTTP/1.1 408 ") or path == "/echo-stream"
        assert 0.9 <= time.monotonic() - started < 2 + LATE_S
    assert counters(server)["body_too_slow"] == 1


def test_a_chunked_body_that_stops_gets_408(servers):
    server = servers.wire(body_rate_min=1000, body_grace_ms=700)
    with Client(server.port) as client:
        client.send(get("/echo", "Transfer-Encoding: chunked\r\n", "POST") + b"5\r\nhel")
        seconds, octets = end_of(client)
        assert octets.startswith(b"HTTP/1.1 408 ")
        assert 0.6 <= seconds < 1.4 + LATE_S


def test_a_body_at_the_least_rate_is_taken(servers):
    server = servers.wire(body_rate_min=1000, body_grace_ms=700)
    body = b"x" * 12000
    with Client(server.port) as client:
        octets = post("/echo", body)
        client.send(octets[:-len(body)])
        for _ in range(12):
            time.sleep(0.2)
            client.send(body[:1000])  # five times as fast as it must be
        assert client.answer().body == body


def test_a_slow_body_does_not_hold_others_up(servers):
    server = servers.wire(workers=1, body_grace_ms=60000)
    with Client(server.port) as slow:
        slow.send(post("/echo", b"x" * 1000)[:-1000])
        started = time.monotonic()
        for _ in range(50):
            ask_once(server.port)
        assert time.monotonic() - started < 5


# ---- clients that do not read --------------------------------------------------------------------

def test_a_client_that_reads_nothing_is_cut_after_the_stall_time(servers):
    server = servers.wire(write_stall_ms=1000)
    with Client(server.port, receive_buffer=4096) as client:
        client.send(get(f"/big?size={100 * MIB}"))
        started = time.monotonic()
        wait_until(lambda: counters(server)["write_stalls"] == 1, 10 + LATE_S, "the stall")
        assert time.monotonic() - started >= 0.9
        try:
            count, ended = pour_in(client, 5, 20)
        except ConnectionResetError:
            return
        assert ended and count < 100 * MIB


@pytest.mark.slow
def test_a_client_that_reads_slowly_is_not_cut(servers):
    server = servers.wire(write_stall_ms=1500)
    size = 24 * MIB
    with Client(server.port, receive_buffer=65536) as client:
        client.send(get(f"/big?size={size}"))
        count, started = 0, time.monotonic()
        while time.monotonic() - started < 6:
            assert client.receive(5)
            count += len(client.pending)
            client.pending = b""
            time.sleep(0.05)
        more, _ = pour_in(client, 2, 60)
        assert count + more > size
    assert counters(server)["write_stalls"] == 0


def test_a_response_with_a_pause_in_its_reading_is_complete(servers):
    server = servers.wire(write_stall_ms=2000)
    with Client(server.port, receive_buffer=4096) as client:
        client.send(get(f"/big?size={MIB}"))
        client.receive(5)
        time.sleep(1.2)
        count = len(client.pending)
        client.pending = b""
        more, _ = pour_in(client, 1, 30)
        assert count + more > MIB


def test_a_download_that_is_aborted_does_not_harm_the_next(wire):
    with Client(wire.port) as client:
        client.send(get(f"/big?size={32 * MIB}"))
        client.receive(5)
    with Client(wire.port) as client:
        client.send(get(f"/big?size={32 * MIB}", "Connection: close\r\n"))
        count, ended = pour_in(client, 10, 60)
        assert ended and count > 32 * MIB


# ---- refusals while the client is still sending --------------------------------------------------

def upload_too_much(port, size):
    """Sends a head and then `size` octets, reading as it goes; what came back, and how it ended."""
    block = memoryview(b"x" * (1 << 18))
    head = f"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n".encode()
    with Client(port, timeout_s=60) as client:
        client.send(head)
        sent = 0
        while sent < size:
            try:
                sent += client.socket.send(block[:size - sent])
            except (BrokenPipeError, ConnectionResetError):
                return client.pending, "reset while sending"
        try:
            return client.rest(60), "end"
        except ConnectionResetError:
            return client.pending, "reset while reading"


@pytest.mark.slow
def test_413_reaches_a_client_that_goes_on_sending(servers):
    server = servers.wire()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: upload_too_much(server.port, 50 * MIB), range(100)))
    good = [octets.startswith(b"HTTP/1.1 413 ") and end == "end" for octets, end in results]
    assert all(good), [end for _, end in results if end != "end"]


def test_a_refused_client_that_has_ended_is_forgotten_at_once(servers):
    """Its FIN may come while much of what it has sent is still to be dropped."""
    server = servers.wire()
    ask_once(server.port)
    before = descriptors(server.pid)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: upload_too_much(server.port, 50 * MIB), range(60)))
    wait_until(lambda: descriptors(server.pid) <= before, 5, "closed descriptors")


@pytest.mark.parametrize("first", ["/slow?ms=300", "/segment/0"])
def test_a_half_close_behind_many_requests_is_noticed_behind_the_last(servers, first):
    server = servers.wire(workers=1)
    count = 20000
    with Client(server.port, timeout_s=60) as client:
        sender = threading.Thread(target=lambda: (
            client.send(get(first) + get("/204") * count), client.half_close()))
        sender.start()
        octets = client.rest(15)
        sender.join()
    assert octets.count(b"HTTP/1.1 204 ") == count


def test_the_linger_of_a_refused_connection_is_bounded(servers):
    server = servers.wire(linger_ms=800)
    with Client(server.port) as client:
        client.send(post("/echo").replace(b"Length: 0", b"Length: 99999999"))
        assert client.answer().status == 413
        started = time.monotonic()
        try:
            while time.monotonic() - started < 30:
                client.send(b"x" * 1000)
                time.sleep(0.05)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert time.monotonic() - started < 0.8 + LATE_S


# ---- many requests -------------------------------------------------------------------------------

def ask_in_a_row(server, count, batch):
    """Numbered requests on one connection, `batch` in flight; each must be answered in its turn."""
    with Client(server.port, timeout_s=60) as client:
        for first in range(0, count, batch):
            numbers = range(first, first + batch)
            client.send(b"".join(get(f"/segment/{number}") for number in numbers))
            for number in numbers:
                assert client.answer().body == b"%d" % number


def test_ten_thousand_requests_on_one_connection_keep_their_order(servers):
    server = servers.wire(workers=1)
    ask_in_a_row(server, 1000, 10)
    before = descriptors(server.pid)
    ask_in_a_row(server, 10000, 10)
    assert descriptors(server.pid) <= before + 1


@pytest.mark.slow
@pytest.mark.release
def test_a_hundred_thousand_requests_on_one_connection_cost_no_memory(servers):
    server = servers.wire("release", workers=1)
    ask_in_a_row(server, 2000, 1)
    before = resident_bytes(server.pid)
    ask_in_a_row(server, 100000, 1)
    assert resident_bytes(server.pid) - before < MIB


def test_a_thousand_requests_of_fifty_clients_do_not_fail(wire):
    def twenty(_):
        with Client(wire.port) as client:
            return [client.ask(GET).status for _ in range(20)]
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        statuses = [status for chunk in pool.map(twenty, range(50)) for status in chunk]
    assert statuses == [200] * 1000


def test_requests_written_before_the_last_answer_is_read_are_all_answered(wire):
    with Client(wire.port) as client:
        client.send(GET)
        for _ in range(5):
            client.send(GET)
            assert client.answer().status == 200
        assert client.answer().status == 200


def test_a_late_answer_is_not_overtaken(wire):
    with Client(wire.port) as client:
        client.send(get("/slow?ms=400") + get("/segment/quick"))
        assert client.answer().body == b"slept\n"
        assert client.answer().body == b"quick"


def test_a_thousand_requests_behind_a_late_one_are_answered_in_order(wire):
    with Client(wire.port, timeout_s=30) as client:
        client.send(get("/slow?ms=500") + b"".join(get(f"/segment/{i}") for i in range(1000)))
        assert client.answer().body == b"slept\n"
        assert [client.answer().body for _ in range(1000)] == [b"%d" % i for i in range(1000)]


def test_requests_behind_a_late_one_are_not_queued_without_end(servers):
    server = servers.wire(workers=1)
    ask_once(server.port)
    before = resident_bytes(server.pid)
    block = GET * 4000
    with Client(server.port) as client:
        client.send(get("/slow?ms=5000"))
        client.socket.settimeout(1.0)
        sent = 0
        try:
            while sent < 200 * MIB:
                sent += client.socket.send(block)
        except TimeoutError:
            pass
        assert sent < 64 * MIB, "the server reads on although it cannot answer"
        assert resident_bytes(server.pid) - before < 16 * MIB


# ---- connections ---------------------------------------------------------------------------------

def test_a_full_server_serves_the_next_one_when_a_place_is_free(servers):
    server = servers.wire(workers=1, connections_max=4)
    busy = [Client(server.port) for _ in range(4)]
    for client in busy:
        client.send(get("/slow?ms=1000"))
    started = time.monotonic()
    late = Client(server.port)
    late.send(GET)
    assert all(client.answer().body == b"slept\n" for client in busy)
    for client in busy:
        client.close()
    assert late.answer().status == 200
    assert time.monotonic() - started < 1 + LATE_S
    late.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_server_takes_no_more_than_its_limit(servers, workers):
    server = servers.wire(workers=workers, connections_max=10)
    ask_once(server.port)
    wait_until(lambda: sockets(server.pid) <= 3 * workers, what="a quiet server")
    before = sockets(server.pid)
    clients = [Client(server.port) for _ in range(40)]
    for client in clients:
        client.send(get("/slow?ms=2500"))
    started, most = time.monotonic(), 0
    while time.monotonic() - started < 2:
        most = max(most, sockets(server.pid) - before)
        time.sleep(0.02)
    assert 5 <= most <= 10 + workers - 1, "connections at once"
    for client in clients:
        client.close()


def test_a_full_server_recycles_what_is_idle_longest(servers):
    server = servers.wire(workers=1, connections_max=4)
    idle = []
    for _ in range(4):
        idle.append(Client(server.port))
        idle[-1].ask(GET)
        time.sleep(0.4)
    assert ask_once(server.port).status == 200
    idle[0].end_s(5)
    assert idle[3].is_silent(0.1)
    for client in idle:
        client.close()
    assert counters(server)["connections_recycled"] >= 1


def test_descriptors_above_2048_work(servers):
    server = servers.wire(workers=1)
    clients = [Client(server.port) for _ in range(2100)]
    for client in clients[::100] + clients[-5:]:
        assert client.ask(GET).status == 200
    for client in clients:
        client.close()
    wait_until(lambda: descriptors(server.pid) < 100, what="closed descriptors")


def test_requests_per_connection_are_limited_when_asked(servers):
    server = servers.wire(requests_per_connection_max=3)
    with Client(server.port) as client:
        assert [client.ask(GET).says_close for _ in range(3)] == [False, False, True]
        client.end_s()
    assert counters(server)["requests_per_connection_hits"] == 1


def test_clients_that_leave_are_noticed(wire):
    before = descriptors(wire.pid)
    for _ in range(200):
        with Client(wire.port) as client:
            client.ask(GET)
    wait_until(lambda: descriptors(wire.pid) <= before, what="closed descriptors")


def test_a_client_that_leaves_before_its_answer_is_no_error(servers):
    server = servers.wire(workers=1)
    for _ in range(50):
        with Client(server.port) as client:
            client.send(get("/slow?ms=200"))
    time.sleep(0.4)  # until all of them would have been answered
    assert ask_once(server.port).status == 200
    assert "error" not in server.stderr.text


@pytest.mark.parametrize("path", ["/slow?ms=300", "/deferred?ms=300", "/pool?ms=300"])
def test_a_client_that_resets_before_its_answer_harms_nobody(servers, path):
    server = servers.wire(workers=1)
    for _ in range(20):
        client = Client(server.port)
        client.send(get(path))
        client.reset()
    assert ask_once(server.port, get(path)).status == 200
    assert threads(server.pid) < 40


def test_handlers_that_fail_cost_no_worker(servers):
    server = servers.wire(workers=2)
    before = threads(server.pid)
    for _ in range(20):
        assert ask_once(server.port, get("/crash")).status == 500
    assert ask_once(server.port).status == 200
    assert threads(server.pid) == before


# ---- the pool ------------------------------------------------------------------------------------

def test_a_full_pool_answers_503_and_says_when_to_come_again(servers):
    server = servers.wire(workers=1, pool=2, pool_queue_max=3)
    clients = [Client(server.port) for _ in range(5)]
    for number, client in enumerate(clients):
        client.send(get("/pool?ms=1500"))
        if number < 2:  # its thread takes it before the queue fills up
            wait_until(lambda: blocking_threads(server) > number, what="a busy pool thread")
    wait_until(lambda: counters(server)["requests"] >= 6, what="five requests under way")
    started = time.monotonic()
    refused = ask_once(server.port, get("/pool"))
    assert refused.status == 503 and int(refused.fields.get("Retry-After")) >= 1
    assert time.monotonic() - started < 0.5
    assert [client.answer().body for client in clients] == [b"pool\n"] * 5
    for client in clients:
        client.close()
    assert counters(server)["pool_queue_full"] == 1


def blocking_threads(server):
    """How many of its threads are within the sleep of /pool."""
    count = 0
    for task in pathlib.Path(f"/proc/{server.pid}/task").iterdir():
        count += "nanosleep" in (task / "wchan").read_text(encoding="ascii")
    return count


def test_handlers_on_the_pool_run_side_by_side(servers):
    server = servers.wire(workers=1, pool=4)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        started = time.monotonic()
        list(pool.map(lambda _: ask_once(server.port, get("/pool?ms=600")), range(4)))
    assert time.monotonic() - started < 1.8


def test_handlers_on_the_pool_do_not_hold_the_loop_up(servers):
    server = servers.wire(workers=1, pool=1)
    with Client(server.port) as slow:
        slow.send(get("/pool?ms=1500"))
        started = time.monotonic()
        assert ask_once(server.port).status == 200
        assert time.monotonic() - started < 1.0
        assert slow.answer().body == b"pool\n"


def test_an_answer_from_another_thread_arrives(wire):
    assert ask_once(wire.port, get("/deferred?ms=50")).body == b"deferred\n"


# ---- dates and error pages -----------------------------------------------------------------------

def test_dates_are_never_more_than_a_second_old(wire):
    stop = threading.Event()

    def hammer():
        with Client(wire.port) as client:
            while not stop.is_set():
                client.ask(GET)
    hammers = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in hammers:
        thread.start()
    try:
        with Client(wire.port) as client:
            until = time.monotonic() + 3
            while time.monotonic() < until:
                before = time.time()
                date = client.ask(GET).fields.get("Date")
                after = time.time()
                stamp = email.utils.parsedate_to_datetime(date).timestamp()
                assert before - 2 < stamp <= after
    finally:
        stop.set()
        for thread in hammers:
            thread.join()


def test_a_date_is_right_after_a_silence(wire):
    with Client(wire.port) as client:
        client.ask(GET)
        time.sleep(2.5)
        before = time.time()
        date = client.ask(GET).fields.get("Date")
        assert email.utils.parsedate_to_datetime(date).timestamp() > before - 2


def test_the_first_line_of_http2_alone_is_a_bad_version(wire):
    with Client(wire.port) as client:
        client.send(b"PRI * HTTP/2.0\r\n\r\n" + GET)
        assert re.match(rb"HTTP/1\.1 505 ", client.rest())


BUILT_IN = {
    400: b"GET / HTTP/1.1\r\n\r\n",
    404: get("/no-such"),
    405: get("/", method="DELETE"),
    408: b"GET / HT",
    411: get("/length-required", "Transfer-Encoding: chunked\r\n", "POST") + b"0\r\n\r\n",
    413: post("/echo", b"", "X: y\r\n").replace(b"Content-Length: 0", b"Content-Length: 9999999"),
    414: get("/" + "a" * 9000),
    417: post("/echo", b"hello", "Expect: zebra\r\n"),
    431: get("/", "X: " + "a" * 40000 + "\r\n"),
    500: get("/crash"),
    501: get("/", "Transfer-Encoding: zebra\r\n", "POST"),
    505: get("/", version="3.0"),
}


@pytest.mark.parametrize("status", BUILT_IN)
def test_an_error_page_is_complete_and_repeats_nothing(servers, status):
    server = servers.wire(head_timeout_ms=500)
    answer = ask_once(server.port, BUILT_IN[status])
    assert answer.status == status
    assert answer.fields.get("Content-Type", "").startswith("text/")
    assert int(answer.fields.get("Content-Length")) == len(answer.body) > 0
    assert "Date" in answer.fields
    page = answer.body.decode()
    assert str(status) in page
    assert not re.search(r"zebra|no-such|aaaa|\d+\.\d+\.\d+", page)
