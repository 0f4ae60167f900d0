"""Where ApacheBench is wrong, loses its report or hangs: what `rivulet ab` says in its place.

Each server here is scripted, so that the right number is known.
"""

import json
import re
import resource
import shutil
import signal
import subprocess
import time

import pytest

from support import apachebench
from support.scripted import Scripted, answer, answering, head, refusing
from support.server import sanitizer_environment

pytestmark = [pytest.mark.alone, pytest.mark.timeout(120)]

KEPT = "Connection: keep-alive\r\n"


@pytest.fixture
def ab(tmp_path):
    """Ours, called by its name."""
    return apachebench.Pair(tmp_path).ours


def each_on_its_own(answers):
    """A script: the nth connection gets the nth of the answers, in turn; None is a reset."""
    def script(conversation):
        request = conversation.request()
        if request is None:
            return
        octets = answers[(request.number - 1) % len(answers)]
        if octets is None:
            conversation.reset()
        else:
            conversation.send(octets)
    return script


# ---- it ends, and there is a report --------------------------------------------------------------

def test_http_1_1_keeps_connections_without_saying_so(ab):
    """ApacheBench waits for a close that never comes."""
    with Scripted(answering(answer(version="1.1"))) as server:
        outcome = ab("-n", 20, "-c", 2, "-k", server.url(), timeout_s=20)
        assert outcome.status == 0
        assert outcome.value("Complete requests") == "20"
        assert outcome.value("Failed requests") == "0"
        assert outcome.value("Keep-Alive requests") == "20"
        assert server.connections == 2


def test_chunked_answers_have_an_end(ab):
    octets = head("Transfer-Encoding: chunked\r\n" + KEPT) + \
        b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
    with Scripted(answering(octets)) as server:
        outcome = ab("-n", 5, "-k", server.url(), timeout_s=20)
        assert outcome.value("Document Length") == "11 bytes"
        assert outcome.value("HTML transferred") == "55 bytes"
        assert outcome.value("Keep-Alive requests") == "5"


def test_a_server_that_does_not_close_is_no_reason_to_wait(ab):
    """Without -k it ought to close, but its answer has a length."""
    def script(conversation):
        conversation.request()
        conversation.send(answer(version="1.0"))
        conversation.hold()

    with Scripted(script) as server:
        outcome = ab("-n", 3, server.url(), timeout_s=20)
        assert (outcome.value("Complete requests"), outcome.failures) == ("3", (0, 0, 0, 0))


def test_a_request_out_of_time_fails_alone(ab):
    """The time limit is each request's. ApacheBench ends the whole run, when nothing at all happens."""
    def script(conversation):
        for request in conversation.requests():
            if request.number == 3:
                conversation.hold()
            conversation.send(answer(fields=KEPT, version="1.0"))

    with Scripted(script) as server:
        outcome = ab("-s", 1, "-n", 200, "-c", 2, "-k", "-q", server.url())
        assert outcome.status == 0
        assert outcome.value("Complete requests") == "200"
        assert outcome.failures == (0, 1, 0, 0)
        assert "1 of the failed requests had no answer within 1 s (-s)" in outcome.stderr


def test_a_time_limit_holds_with_a_silent_server(ab):
    with Scripted(lambda conversation: conversation.hold()) as server:
        started = time.monotonic()
        outcome = ab("-t", 1, "-c", 2, server.url())
        assert time.monotonic() - started < 5
        assert outcome.status == 0
        assert outcome.value("Complete requests") == "0"
        assert "Requests per second" not in outcome.report


def test_a_time_limit_ends_a_run(ab, demo):
    outcome = ab("-t", 1, "-n", 100000000, "-k", "-q", demo.url("/ok"))
    assert outcome.status == 0
    assert 0.9 < outcome.number(r"Time taken for tests: +([0-9.]+) seconds$") < 2
    assert int(outcome.value("Complete requests")) > 10


def test_an_interrupt_ends_with_a_report(tmp_path):
    def script(conversation):
        for request in conversation.requests():
            if request.number > 5:
                conversation.hold()
            conversation.send(answer(fields=KEPT, version="1.0"))

    pair = apachebench.Pair(tmp_path)
    with Scripted(script) as server:
        process = subprocess.Popen([pair.link, "-n", "1000", "-k", server.url()],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=sanitizer_environment())
        while server.requests < 6 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
        outcome = apachebench.Outcome(process.returncode, stdout, stderr)
        assert outcome.status == 1
        assert outcome.value("Complete requests") == "5"
        assert len(re.findall(r"^ *\d+%", outcome.report, re.M)) == 9


# ---- failures are counted once, and are failures -------------------------------------------------

def test_a_reset_is_one_failure(ab):
    """ApacheBench counts it twice, as Receive and as Exception."""
    good = answer(version="1.0")
    with Scripted(each_on_its_own([good, None, good])) as server:
        outcome = ab("-r", "-n", 9, server.url())
        assert outcome.status == 0
        assert outcome.value("Complete requests") == "9"
        assert outcome.value("Failed requests") == "3"
        assert outcome.failures == (0, 3, 0, 0)


def test_resets_are_told_with_v(ab):
    with Scripted(each_on_its_own([answer(version="1.0"), None])) as server:
        outcome = ab("-r", "-v", 1, "-n", 6, server.url())
        assert outcome.stderr.startswith(
            "apr_socket_recv: Connection reset by peer (104), 3 times\n")


def test_the_cause_of_waiting_is_told_with_v(ab):
    """A full accept queue is why connecting takes whole seconds: its limit and its length prove it."""
    with Scripted(lambda conversation: None, backlog=2, accepts=False) as server:
        outcome = ab("-v", 1, "-r", "-s", 1, "-c", 10, "-n", 10, server.url())
        assert re.search(r"^ab: Accept queue overflow: .* a backlog of 2, .* 3 ", outcome.stderr,
                         re.M), outcome
        assert outcome.failures == (7, 3, 0, 0)


def test_a_kept_connection_that_the_server_closes_is_no_failure(ab):
    """As it may, between two answers. ApacheBench counts a Length, or ends with the reset."""
    def script(conversation):
        for count, _ in enumerate(conversation.requests(), 1):
            conversation.send(answer(fields=KEPT, version="1.0"))
            if count == 3:
                return

    with Scripted(script) as server:
        outcome = ab("-n", 30, "-k", server.url())
        assert outcome.status == 0, outcome
        assert outcome.value("Complete requests") == "30"
        assert outcome.value("Failed requests") == "0"
        assert outcome.value("HTML transferred") == "60 bytes"
        assert server.connections >= 10


def test_an_answer_that_is_cut_short_is_a_failure(ab):
    """ApacheBench compares with the first answer only: cut all alike, and nothing has failed."""
    def script(conversation):
        conversation.request()
        conversation.send(head("Content-Length: 10\r\n", version="1.0"), b"short")

    with Scripted(script) as server:
        outcome = ab("-n", 3, server.url())
        assert outcome.value("Complete requests") == "3"
        assert outcome.failures == (0, 0, 3, 0)


def test_a_connection_without_an_answer_is_a_failure(ab):
    """Also with -l, where ApacheBench takes it for a document of no length."""
    with Scripted(each_on_its_own([answer(version="1.0"), b""])) as server:
        outcome = ab("-l", "-n", 6, server.url())
        assert outcome.status == 0
        assert outcome.failures == (0, 3, 0, 0)


def test_what_is_no_http_is_a_failure(ab):
    with Scripted(each_on_its_own([b"hello there\r\n\r\nbody"])) as server:
        outcome = ab("-n", 3, server.url())
        assert outcome.failures == (0, 0, 0, 3)
        assert "Non-2xx" not in outcome.report
        assert "Connection Times" not in outcome.report


def test_a_404_is_an_answer(ab, demo):
    """And is told: it is no failure, in either program."""
    outcome = ab("-n", 9, demo.url("/nowhere"))
    assert outcome.status == 0
    assert outcome.value("Failed requests") == "0"
    assert outcome.value("Non-2xx responses") == "9"


def test_with_r_a_refused_run_still_says_so(ab):
    """Nothing was ever reached: ApacheBench counts half of it twice and ends with 0."""
    with refusing() as port:
        outcome = ab("-r", "-n", 30, "-c", 3, f"127.0.0.1:{port}/")
        assert outcome.status == 111
        assert outcome.stderr == "apr_socket_connect(): Connection refused (111)\n"


def test_a_server_that_goes_away_ends_the_run(ab):
    """After as many connections as it takes to be sure."""
    def script(conversation):
        conversation.request()
        if server.connections > 5:
            server.stop_listening()
        conversation.send(answer(version="1.0"))

    with Scripted(script) as server:
        outcome = ab("-n", 1000, "-q", server.url())
        assert outcome.status == 111, outcome
        assert re.search(r"^Total of \d+ requests completed$", outcome.stdout.split("...", 1)[1],
                         re.M)
        assert "\nTest aborted after 10 failures\n\n" in outcome.stderr


def test_with_r_connections_that_fail_are_counted(ab):
    def script(conversation):
        conversation.request()
        if server.connections == 5:
            server.stop_listening()
        conversation.send(answer(version="1.0"))

    with Scripted(script) as server:
        outcome = ab("-r", "-n", 12, server.url())
        assert outcome.status == 0, outcome
        assert outcome.value("Complete requests") == "12"
        assert outcome.failures == (7, 0, 0, 0)


def test_more_clients_than_descriptors_are_refused_before_the_run(ab, demo):
    def few_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    outcome = ab("-c", 100, "-n", 100, demo.url("/ok"), preexec_fn=few_descriptors)
    assert outcome.status == 2
    assert outcome.report == ""
    assert re.search(r"^ab: .*100.*descriptors", outcome.stderr), outcome


def test_a_report_that_cannot_be_written_is_an_error(tmp_path, demo):
    pair = apachebench.Pair(tmp_path)
    with open("/dev/full", "wb") as full:
        done = subprocess.run([pair.link, demo.url("/ok")], stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60, env=sanitizer_environment(), check=False)
    assert done.returncode == 1
    assert done.stderr == "ab: cannot write the report: No space left on device\n"


# ---- numbers -------------------------------------------------------------------------------------

DELAYS_MS = (10, 50, 100, 200, 300)


@pytest.fixture
def timed(ab, tmp_path):
    """Runs one request after the other at a server with these delays. Gives the outcome, and the times
    of each request from first to last as the file of -g has them: column by column, in its order."""
    def run(delays_ms, *words):
        def script(conversation):
            request = conversation.request()
            conversation.wait(delays_ms[(request.number - 1) % len(delays_ms)] / 1000)
            conversation.send(answer(version="1.0"))

        plot = tmp_path / "plot.tsv"
        with Scripted(script) as server:
            outcome = ab("-g", plot, "-n", len(delays_ms), *words, server.url())
        header, *rows = [line.split("\t") for line in plot.read_text().splitlines()]
        columns = {name: [int(row[i]) for row in rows] for i, name in enumerate(header) if i > 0}
        assert all(time_ms >= delay_ms for time_ms, delay_ms in zip(columns["ttime"], delays_ms))
        return outcome, columns
    return run


def test_the_median_is_the_middle_one(timed):
    """Of an odd number ApacheBench takes the mean of the middle one and the next, of an even number the
    upper one of the two."""
    outcome, columns = timed(DELAYS_MS)
    assert outcome.row("Total")[3] == pytest.approx(columns["ttime"][2], abs=1, rel=0.002)
    outcome, columns = timed(DELAYS_MS[1:])
    middle = columns["ttime"][1:3]
    assert outcome.row("Total")[3] == pytest.approx(sum(middle) / 2, abs=1, rel=0.002)


def test_a_percentage_is_what_so_many_were_served_in(timed, tmp_path):
    """ApacheBench takes the next one, and its file ends with what lies behind the array."""
    table = tmp_path / "table.csv"
    outcome, columns = timed(DELAYS_MS, "-e", table)
    totals = columns["ttime"]
    assert outcome.number(r"  80% +(\d+)$") == pytest.approx(totals[3], abs=1, rel=0.002)
    assert outcome.number(r"  90% +(\d+)$") == pytest.approx(totals[4], abs=1, rel=0.002)
    rows = [float(row.split(",")[1]) for row in table.read_text().splitlines()[1:]]
    expected = [totals[max(0, -(-percent * 5 // 100) - 1)] for percent in range(101)]
    assert rows == pytest.approx(expected, abs=1, rel=0.002)


def test_no_run_is_called_unreliable_because_of_rounding(ab, demo):
    for _ in range(5):
        outcome = ab("-n", 20, demo.url("/ok"))
        assert "reliable" not in outcome.stdout


def test_reused_connections_take_no_time_to_connect(ab, demo):
    least, _, _, median, _ = ab("-n", 100, "-k", demo.url("/ok")).row("Connect")
    assert least == median == 0


def test_html_shows_the_time_of_processing(timed):
    """ApacheBench subtracts the least, mean and most of one row from those of another."""
    outcome, columns = timed((100, 200), "-w")
    cells = re.findall(r">Processing:</th><td[^>]*> *(\d+)</td><td[^>]*> *(\d+)</td>"
                       r"<td[^>]*> *(\d+)</td>", outcome.report)
    times = columns["dtime"]
    assert [int(cell) for cell in cells[0]] == pytest.approx(
        [min(times), sum(times) / 2, max(times)], abs=1, rel=0.002)


# ---- requests ------------------------------------------------------------------------------------

def test_all_cookies_are_sent(ab):
    """ApacheBench sends the last one."""
    with Scripted(each_on_its_own([answer(version="1.0")])) as server:
        ab("-C", "a=1", "-C", "b=2", server.url())
        assert server.heads[0].values("Cookie") == ["a=1; b=2"]


def test_a_proxy_is_told_a_whole_url(ab):
    """Also when the command line has none. ApacheBench passes on what it was given."""
    with Scripted(each_on_its_own([answer(version="1.0")])) as server:
        ab("-X", f"127.0.0.1:{server.port}", "example.org")
        assert server.heads[0].target == "http://example.org/"
        assert server.heads[0].values("Host") == ["example.org"]


def test_a_fragment_stays_here(ab):
    with Scripted(each_on_its_own([answer(version="1.0")])) as server:
        outcome = ab(server.url("/a?b#c"))
        assert server.heads[0].target == "/a?b"
        assert outcome.value("Document Path") == "/a?b"


def test_connections_come_from_the_local_address(ab):
    """Of a range, from one after the other: ApacheBench knows single addresses only."""
    peers = []

    def script(conversation):
        peers.append(conversation.socket.getpeername()[0])
        conversation.request()
        conversation.send(answer(version="1.0"))

    with Scripted(script) as server:
        assert ab("-B", "127.0.0.9", "-n", 2, server.url()).status == 0
        assert ab("-B", "127.0.0.2-127.0.0.4", "-n", 6, server.url()).status == 0
    assert peers[:2] == ["127.0.0.9"] * 2
    assert sorted(peers[2:]) == ["127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.3",
                                 "127.0.0.4", "127.0.0.4"]


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace here")
def test_sockets_have_buffers_of_the_size_asked_for(tmp_path, demo):
    pair = apachebench.Pair(tmp_path)
    log = tmp_path / "calls"
    environment = sanitizer_environment()
    environment["ASAN_OPTIONS"] = "detect_leaks=0"  # which needs to trace, too
    subprocess.run(["strace", "-f", "-q", "-e", "trace=setsockopt", "-o", log, pair.link,
                    "-b", "16384", demo.url("/ok")], stdout=subprocess.DEVNULL, timeout=60,
                   env=environment, check=True)
    assert "SO_SNDBUF, [16384]" in log.read_text()
    assert "SO_RCVBUF, [16384]" in log.read_text()


def test_numbers_are_not_cut(ab):
    """ApacheBench reads 1e3 as 1."""
    assert ab("-n", "1e3", "127.0.0.1:1/").status == 1
    assert ab("-t", "5s", "127.0.0.1:1/").status == 22


def test_options_of_tls_are_for_https(ab):
    outcome = ab("-f", "TLS1.2", "127.0.0.1:1/")
    assert outcome.status == 22
    assert outcome.stderr.startswith("ab: -f is for https URLs")


# ---- what ApacheBench has not --------------------------------------------------------------------

def test_a_result_can_be_saved(ab, demo, tmp_path):
    saved = tmp_path / "result.json"
    outcome = ab("--save", saved, "-n", 9, "-k", demo.url("/hello"))
    result = json.loads(saved.read_text())
    assert outcome.status == 0
    assert result["requests"]["answered"] == 9
    assert result["command"].startswith("rivulet ab --save ")
    with refusing() as port:
        assert ab("--save", saved, "-n", 9, f"127.0.0.1:{port}/").status == 111
    assert json.loads(saved.read_text())["failures"]["connect_refused"]["count"] >= 1


def test_a_result_that_cannot_be_saved_costs_no_run(ab, demo):
    outcome = ab("--save", "/nonexistent/file", demo.url("/ok"))
    assert outcome.status == 1
    assert outcome.stdout == ""
    assert outcome.stderr.startswith('ab: --save: cannot write "/nonexistent/file": ')
