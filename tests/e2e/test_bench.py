"""`rivulet bench`: every option is proven by what the server has seen."""

import base64
import json
import os
import pty
import re
import select
import shlex
import signal
import socket
import subprocess
import time

import pytest

from support.command import TIMEOUT_S, Ended, rivulet
from support.machine import needs_ipv6
from support.recording import Recorder
from support.scripted import refusing
from support.server import ROOT, program, sanitizer_environment

pytestmark = pytest.mark.alone


def bench(*words, **options):
    return rivulet("bench", *words, **options)


def result(*words, **options):
    """The result of a run, as JSON."""
    return json.loads(bench("-q", "--format", "json", *words, **options).out)


@pytest.fixture
def recorder():
    with Recorder() as server:
        yield server


def targets(server):
    return [request.target for request in server.requests]


# ---- how much ------------------------------------------------------------------------------------

def test_requests_are_counted_exactly(recorder):
    run = result("-n", 1000, "-c", 10, recorder.url("/ok"))
    assert run["requests"]["answered"] == len(recorder.requests) == 1000
    assert len(recorder.connections) == 10
    assert set(targets(recorder)) == {"/ok"}


def test_requests_are_counted_exactly_over_threads(recorder):
    bench("-n", 1001, "-c", 7, "--threads", 2, recorder.url())
    assert len(recorder.requests) == 1001


def test_a_quota_is_each_clients_own(recorder):
    bench("--quota", 5, "-c", 4, recorder.url())
    assert [len(connection.requests) for connection in recorder.connections] == [5] * 4


def test_a_time_ends_the_run(recorder):
    started = time.monotonic()
    bench("-t", "700ms", "-c", 2, recorder.url())
    assert 0.6 < time.monotonic() - started < 10
    requests = recorder.requests
    assert 0.4 < requests[-1].at_s - requests[0].at_s < 1.5


def test_fewer_requests_than_clients_open_fewer_connections(recorder):
    run = bench("-n", 3, "-c", 5, recorder.url())
    assert len(recorder.requests) == 3
    assert len(recorder.connections) == 3
    assert "note: 3 requests need no more than 3 of the 5 clients" in run.err


# ---- how -----------------------------------------------------------------------------------------

def test_a_thinking_client_waits_between_answer_and_request(recorder):
    bench("-n", 5, "-c", 1, "--think", "100ms", recorder.url())
    times = [request.at_s for request in recorder.requests]
    assert all(later - earlier > 0.095 for earlier, later in zip(times, times[1:]))


def test_a_pipeline_has_its_requests_in_flight_together():
    """The server answers nothing before it has four: without a pipeline it would never answer."""
    with Recorder(gather=4) as server:
        bench("-n", 16, "-c", 2, "--pipeline", 4, "--timeout", "20s", server.url())
        assert len(server.requests) == 16
        assert len(server.connections) == 2


def test_without_a_pipeline_only_one_is_in_flight():
    with Recorder(gather=2) as server:
        bench("-n", 1, "-c", 1, "--timeout", "300ms", server.url(), code=2)
        assert len(server.requests) == 1


def test_a_rate_is_kept(recorder):
    run = result("-R", 200, "-t", 3, recorder.url())
    requests = recorder.requests
    assert run["requests"]["due"] == 600
    assert abs(len(requests) - 600) <= 12
    span = requests[-1].at_s - requests[0].at_s
    assert abs((len(requests) - 1) / span - 200) <= 4


def test_a_rate_with_a_number_of_requests_ends_with_the_last(recorder):
    bench("-R", 100, "-n", 50, recorder.url())
    requests = recorder.requests
    assert len(requests) == 50
    assert 0.4 < requests[-1].at_s - requests[0].at_s < 1.0


def spread(server):
    """The coefficient of variation of the gaps between requests: 0 when even, 1 for Poisson."""
    times = [request.at_s for request in server.requests]
    gaps = [later - earlier for earlier, later in zip(times, times[1:])]
    mean = sum(gaps) / len(gaps)
    return (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5 / mean


def test_arrivals_are_even_or_poisson():
    with Recorder() as server:
        bench("-R", 20, "-t", 2, server.url())
        assert spread(server) < 0.5
    with Recorder() as server:
        bench("-R", 100, "-t", 2, "--arrivals", "poisson", "--seed", 7, server.url())
        assert spread(server) > 0.6


def test_a_seed_gives_the_same_arrivals_again(recorder):
    """How many are due within a second is the schedule's alone, whatever the machine does."""
    due = [result("-R", 1000, "-t", "300ms", "--arrivals", "poisson", "--seed", seed, "--threads",
                  1, recorder.url())["requests"]["due"] for seed in (7, 7, 8, 9, 10)]
    assert due[0] == due[1]
    assert len(set(due)) > 2


def test_max_clients_bounds_the_connections_of_a_rate():
    with Recorder(delay_s=0.2) as server:
        run = result("-R", 100, "-t", 1, "--max-clients", 3, server.url())
        assert run["connections"]["open_peak"] == len(server.connections) == 3
        assert run["requests"]["started"] <= 3 * 7
        assert run["requests"]["due"] == 100
        assert run["requests"]["due"] == \
            run["requests"]["started"] + run["requests"]["not_started"]


# ---- connections ---------------------------------------------------------------------------------

def test_without_keepalive_each_request_has_its_connection(recorder):
    bench("-n", 20, "-c", 2, "--no-keepalive", recorder.url())
    assert [len(connection.requests) for connection in recorder.connections] == [1] * 20
    assert all(request.value("Connection") == "close" for request in recorder.requests)


def test_requests_per_connection(recorder):
    bench("-n", 20, "-c", 1, "--requests-per-connection", 5, recorder.url())
    assert [len(connection.requests) for connection in recorder.connections] == [5] * 4


def test_http_1_0_asks_to_keep_the_connection(recorder):
    bench("-n", 10, "-c", 1, "--http1.0", recorder.url())
    assert len(recorder.connections) == 1
    assert {request.version for request in recorder.requests} == {"HTTP/1.0"}
    assert {request.value("Connection") for request in recorder.requests} == {"keep-alive"}


def test_http_1_0_without_keepalive_says_nothing(recorder):
    bench("-n", 4, "-c", 1, "--http1.0", "--no-keepalive", recorder.url())
    assert len(recorder.connections) == 4
    assert all(request.values("Connection") == [] for request in recorder.requests)


def test_a_connection_field_of_the_user_counts(recorder):
    bench("-n", 4, "-c", 1, "-H", "Connection: close", recorder.url())
    assert [len(connection.requests) for connection in recorder.connections] == [1] * 4


def test_connects_are_spread_over_time(recorder):
    bench("-c", 10, "--quota", 1, "--connect-rate", 20, recorder.url())
    times = sorted(connection.at_s for connection in recorder.connections)
    assert len(times) == 10
    assert 0.4 < times[-1] - times[0] < 0.9


def test_a_request_has_so_much_time():
    with Recorder(delay_s=5) as server:
        started = time.monotonic()
        run = result("-n", 2, "-c", 2, "--timeout", "300ms", server.url(), code=2)
        assert time.monotonic() - started < 4
        assert run["failures"]["wait_timeout"]["count"] == run["requests"]["failed"] == 2


def test_a_connection_has_so_much_time():
    """A full accept queue: the handshake of another connection is not answered."""
    with socket.socket() as listener, socket.socket() as first, socket.socket() as second:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for client in (first, second):
            client.setblocking(False)
            client.connect_ex(listener.getsockname())
        time.sleep(0.2)
        started = time.monotonic()
        run = result("-n", 1, "-c", 1, "--connect-timeout", "300ms", "--timeout", "50s",
                     f"127.0.0.1:{listener.getsockname()[1]}", code=2)
        assert time.monotonic() - started < 20
        assert run["failures"]["connect_timeout"]["count"] == run["requests"]["failed"] == 1


# ---- requests ------------------------------------------------------------------------------------

def test_a_plain_request(recorder):
    bench("-n", 1, f"127.0.0.1:{recorder.port}/a?b=c#d")
    (request,) = recorder.requests
    assert (request.method, request.target, request.version) == ("GET", "/a?b=c", "HTTP/1.1")
    names = [name for name, _ in request.fields]
    assert names == ["Host", "User-Agent", "Accept"]
    assert request.value("Host") == f"127.0.0.1:{recorder.port}"
    assert re.fullmatch(r"rivulet/\d+\.\d+\.\d+", request.value("User-Agent"))
    assert request.body == b""


@pytest.mark.parametrize("words, method", [
    (["-X", "DELETE"], "DELETE"), (["--method", "BREW"], "BREW"), (["-I"], "HEAD"),
    (["--head"], "HEAD"), (["-d", "x"], "POST"), (["-d", "x", "-X", "PATCH"], "PATCH")])
def test_methods(recorder, words, method):
    bench("-n", 3, "-c", 1, *words, recorder.url())
    assert [request.method for request in recorder.requests] == [method] * 3
    assert len(recorder.connections) == 1


def test_fields_are_added_replaced_emptied_and_left_out(recorder):
    bench("-n", 1, "-H", "X-A: 1", "--header", "Host: other", "-H", "X-Empty;", "-H", "Accept:",
          recorder.url())
    (request,) = recorder.requests
    names = [name for name, _ in request.fields]
    assert names == ["Host", "User-Agent", "X-A", "X-Empty"]
    assert request.value("Host") == "other"
    assert request.value("X-Empty") == ""


def cookies_by_connection(recorder):
    return sorted([request.value("Cookie") for request in connection.requests]
                  for connection in recorder.connections)


@pytest.mark.parametrize("threads", [1, 3])
def test_each_client_has_a_field_of_its_own(recorder, tmp_path, threads):
    path = tmp_path / "fields"
    path.write_text("Cookie: sid=a\nCookie: sid=b\nCookie: sid=c\n")
    bench("-c", 7, "--quota", 2, "--threads", threads, "--client-headers", path, recorder.url())
    assert cookies_by_connection(recorder) == [
        ["sid=a"] * 2, ["sid=a"] * 2, ["sid=a"] * 2, ["sid=b"] * 2, ["sid=b"] * 2, ["sid=c"] * 2,
        ["sid=c"] * 2]


def test_an_empty_line_is_a_client_without_one(recorder):
    bench("-c", 2, "--quota", 1, "--client-headers", "-", recorder.url("/a"), recorder.url("/b"),
          input="\nX-Token: 1\n")
    assert sorted(request.values("X-Token") for request in recorder.requests) == [[], ["1"]]


def test_a_client_keeps_its_field_on_all_its_connections(recorder, tmp_path):
    path = tmp_path / "fields"
    path.write_text("Cookie: sid=a\nCookie: sid=b\n")
    bench("-c", 2, "--quota", 3, "--no-keepalive", "--client-headers", path, recorder.url())
    assert cookies_by_connection(recorder) == [["sid=a"]] * 3 + [["sid=b"]] * 3


def test_data_are_a_form(recorder):
    bench("-n", 2, "-c", 1, "-d", "a=1", "--data", "b=2", recorder.url())
    for request in recorder.requests:
        assert request.body == b"a=1&b=2"
        assert request.value("Content-Type") == "application/x-www-form-urlencoded"


def test_json_says_so(recorder):
    bench("-n", 1, "--json", '{"a":1}', recorder.url())
    (request,) = recorder.requests
    assert request.method == "POST"
    assert request.body == b'{"a":1}'
    assert request.value("Content-Type") == request.value("Accept") == "application/json"


def test_a_file_is_sent_as_it_is(demo, recorder, tmp_path):
    path = tmp_path / "body"
    octets = bytes(range(256)) * 1000
    path.write_bytes(octets)
    bench("-n", 1, "-d", f"@{path}", "-H", "Content-Type: application/octet-stream",
          recorder.url())
    (request,) = recorder.requests
    assert request.body == octets
    assert request.value("Content-Type") == "application/octet-stream"
    run = result("-n", 20, "-c", 3, "-d", f"@{path}", demo.url("/echo"))
    assert run["statuses"] == {"200": 20}
    assert run["octets"]["content_octets"] == 20 * len(octets)


def test_a_chunked_body_arrives(demo):
    run = result("-n", 20, "-c", 2, "-d", "x" * 1000, "-H", "Transfer-Encoding: chunked",
                 demo.url("/echo"))
    assert run["statuses"] == {"200": 20}
    assert run["octets"]["content_octets"] == 20 * 1000


def test_data_from_stdin(recorder):
    bench("-n", 1, "-d", "@-", recorder.url(), input="from a pipe")
    assert recorder.requests[0].body == b"from a pipe"


@pytest.mark.parametrize("words, userinfo, expected", [
    (["-u", "user:pass"], "", "user:pass"), ([], "u%40x:p@", "u@x:p"), ([], "u@", "u:"),
    (["-u", "mine:own"], "u:p@", "mine:own")])
def test_credentials(recorder, words, userinfo, expected):
    bench("-n", 1, *words, f"http://{userinfo}127.0.0.1:{recorder.port}/")
    scheme, encoded = recorder.requests[0].value("Authorization").split(" ")
    assert scheme == "Basic"
    assert base64.b64decode(encoded).decode() == expected


# ---- where to ------------------------------------------------------------------------------------

def test_several_urls_are_taken_in_turn(recorder):
    bench("-n", 6, "-c", 1, *(recorder.url(path) for path in ("/a", "/b", "/c")))
    assert targets(recorder) == ["/a", "/b", "/c"] * 2


def test_urls_from_a_file(recorder, tmp_path):
    path = tmp_path / "urls"
    path.write_text(f"# two of them\n{recorder.url('/a')}\n\n  {recorder.url('/b')}\r\n")
    bench("-n", 4, "-c", 1, "--urls", path)
    assert targets(recorder) == ["/a", "/b"] * 2
    bench("-n", 1, "--urls", "-", input=recorder.url("/stdin"))
    assert targets(recorder)[-1] == "/stdin"


def test_a_unix_socket(tmp_path):
    path = str(tmp_path / "s")
    with Recorder(path) as server:
        bench("-n", 5, "-c", 1, "--unix-socket", path, "http://name.example/x")
        assert targets(server) == ["/x"] * 5
        assert server.requests[0].value("Host") == "name.example"


def test_an_abstract_unix_socket():
    name = f"rivulet-test-{os.getpid()}"
    with Recorder("\0" + name) as server:
        bench("-n", 5, "--unix-socket", "@" + name, "h")
        assert len(server.requests) == 5


def test_resolve(recorder):
    port = recorder.port
    bench("-n", 1, "--resolve", f"name.invalid:{port}:127.0.0.1", f"name.invalid:{port}/r")
    assert targets(recorder) == ["/r"]
    assert recorder.requests[0].value("Host") == f"name.invalid:{port}"


def test_an_address_that_refuses_is_passed_over(recorder):
    """Only 127.0.0.1 of the two listens."""
    port = recorder.port
    run = result("-n", 6, "-c", 2, "--resolve", f"name.invalid:{port}:127.0.0.2,127.0.0.1",
                 f"name.invalid:{port}")
    assert run["requests"]["answered"] == len(recorder.requests) == 6
    assert run["requests"]["failed"] == 0
    assert run["connections"]["connects_tried"] == 2 * len(recorder.connections)


@needs_ipv6
def test_ipv6():
    with Recorder(("::1", 0)) as server:
        bench("-n", 4, "-c", 2, f"[::1]:{server.port}/x")
        assert {request.value("Host") for request in server.requests} == {f"[::1]:{server.port}"}


def test_a_name(recorder):
    bench("-n", 4, "-c", 2, f"localhost:{recorder.port}")
    assert {request.value("Host") for request in recorder.requests} == \
        {f"localhost:{recorder.port}"}


def test_source_addresses_are_used_in_turn(recorder):
    bench("-n", 8, "-c", 8, "--source", "127.0.0.10-127.0.0.13", recorder.url())
    peers = sorted(connection.peer[0] for connection in recorder.connections)
    assert peers == sorted([f"127.0.0.{n}" for n in (10, 11, 12, 13)] * 2)


def test_one_source_address(recorder):
    bench("-n", 2, "-c", 2, "--source", "127.0.0.5", recorder.url())
    assert {connection.peer[0] for connection in recorder.connections} == {"127.0.0.5"}


def test_a_proxy_is_asked_for_the_whole_url(recorder):
    bench("-n", 3, "-c", 1, "-x", f"http://u:p@127.0.0.1:{recorder.port}",
          "http://name.invalid:81?x=1")
    for request in recorder.requests:
        assert request.target == "http://name.invalid:81/?x=1"
        assert request.value("Host") == "name.invalid:81"
        encoded = request.value("Proxy-Authorization").split(" ")[1]
        assert base64.b64decode(encoded) == b"u:p"
        assert request.values("Authorization") == []


# ---- this machine --------------------------------------------------------------------------------

def tasks_cpus(pid):
    """Where the load threads, which are all but the first, may run."""
    allowed = []
    for task in sorted(os.listdir(f"/proc/{pid}/task"), key=int)[1:]:
        with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as file:
            allowed.append(re.search(r"Cpus_allowed_list:\s*(\S+)", file.read()).group(1))
    return allowed


def start(*words, **popen):
    return subprocess.Popen([program("rivulet"), "bench", *map(str, words)],
                            env=sanitizer_environment(), **popen)


def finish(process, number=signal.SIGINT):
    """Interrupts it, and returns the run."""
    process.send_signal(number)
    out, err = process.communicate(timeout=TIMEOUT_S)
    return Ended(process.returncode, out, err)


@pytest.mark.parametrize("count", [1, 3])
def test_threads_run_on_the_cpus_that_were_chosen(recorder, count):
    cpu = sorted(os.sched_getaffinity(0))[0]
    process = start("-t", 30, "-c", 3, "--think", "10ms", "--threads", count, "--cpus", cpu,
                    recorder.url(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while len(recorder.requests) < 20 and time.monotonic() < deadline:
        time.sleep(0.02)
    allowed = tasks_cpus(process.pid)
    assert finish(process).code == 130
    assert allowed == [str(cpu)] * count


# ---- the end -------------------------------------------------------------------------------------

@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_reports(recorder, number):
    process = start("-t", 600, "-c", 2, "--think", "10ms", "--format", "json", recorder.url(),
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while len(recorder.requests) < 10 and time.monotonic() < deadline:
        time.sleep(0.02)
    run = finish(process, number)
    assert run.code == 130
    saw = json.loads(run.out)
    assert saw["end"] == "interrupted"
    assert 10 <= saw["requests"]["answered"] <= len(recorder.requests)


def test_nothing_answered_is_a_failure_to_connect():
    started = time.monotonic()
    with refusing() as port:
        run = result("-t", 30, "-c", 5, f"127.0.0.1:{port}", code=2)
    assert time.monotonic() - started < 10
    assert run["end"] == "unreached"
    assert list(run["failures"]) == ["connect_refused"]


def test_a_name_that_nobody_has():
    run = bench("http://a..b/", code=2)
    assert run.err.startswith('rivulet bench: "a..b" could not be resolved: ')
    assert run.out == ""


@pytest.mark.parametrize("words, says", [
    ([], "a URL is needed"),
    (["-c", "0", "h"], "-c takes a whole number from 1 to 1000000"),
    (["-n", "0", "h"], "-n takes"),
    (["-t", "0", "h"], "-t takes a time"),
    (["-R", "0", "h"], "-R takes a rate"),
    (["-R", "2G", "h"], "-R takes a rate above 0, up to 1G"),
    (["-o", "-", "h"], "-o takes a file"),
    (["--unix-socket", "/" + "a" * 108, "h"], "--unix-socket: the path"),
    (["--quota", "x", "h"], "--quota takes"),
    (["--think", "x", "h"], "--think takes"),
    (["--pipeline", "0", "h"], "--pipeline takes"),
    (["--connect-rate", "0", "h"], "--connect-rate takes"),
    (["--requests-per-connection", "0", "h"], "--requests-per-connection takes"),
    (["--timeout", "x", "h"], "--timeout takes"),
    (["--connect-timeout", "0", "h"], "--connect-timeout takes"),
    (["--threads", "0", "h"], "--threads takes"),
    (["--cpus", "9999", "h"], "--cpus takes"),
    (["--format", "xml", "h"], "--format takes text, json, csv, ab or cherrypy"),
    (["-R", "1", "--arrivals", "odd", "h"], "--arrivals takes even or poisson"),
    (["-R", "1", "--max-clients", "0", "h"], "--max-clients takes"),
    (["-R", "1", "--seed", "x", "h"], "--seed takes"),
    (["-R", "1", "-c", "1", "h"], "-R and -c exclude each other"),
    (["-n", "1", "--quota", "1", "h"], "-n and --quota exclude each other"),
    (["--pipeline", "2", "--no-keepalive", "h"], "exclude each other"),
    (["-I", "-d", "x", "h"], "-I and -d exclude each other"),
    (["--max-clients", "1", "h"], "--max-clients is of no use without -R"),
    (["-u", "user", "h"], "-u takes USER:PASS"),
    (["-H", "nonsense", "h"], '-H takes "Name: value"'),
    (["--client-headers", "/dev/null", "h"], '"/dev/null" is empty'),
    (["--client-headers", str(ROOT / "README.md"), "h"], '--client-headers takes "Name: value"'),
    (["-X", "GE T", "h"], 'the method "GE T" is no token'),
    (["--source", "x", "127.0.0.1"], "--source"),
    (["--resolve", "x", "h"], "--resolve"),
    (["--unix-socket", "/" + "x" * 200, "h"], "--unix-socket"),
    (["-x", "p:x", "h"], "-x"),
    (["--urls", "/dev/null"], "there is no URL"),
    (["--urls", "f", "h"], "give one or the other"),
    (["127.0.0.1/a", "127.0.0.2/b"], "has another scheme, host or port"),
    (["-k", "127.0.0.1/"], "-k is for https URLs"),
    (["127.0.0.1:99999/"], "the port must be a number from 1 to 65535"),
    (["http:///x"], "there is no host"),
    (["h/a b"], "percent-encode it, as %20"),
    (["--nonsense", "h"], "there is no option --nonsense"),
    (["-Z", "h"], "there is no option -Z"),
    (["h", "-c"], "-c needs a value"),
])
def test_what_is_wrong_is_said_in_one_line(words, says):
    run = bench(*words, code=1)
    assert run.out == ""
    assert run.err.count("\n") == 1
    assert run.err.startswith("rivulet bench: ")
    assert run.err.endswith("(rivulet bench --help)\n")
    assert says in run.err


@pytest.mark.parametrize("words", [["-d", "@/nothing/there", "h"], ["--urls", "/nothing/there"],
                                   ["--client-headers", "/nothing/there", "h"],
                                   ["-o", "/nothing/there", "127.0.0.1:1"]])
def test_files_that_are_not_there(words):
    run = bench(*words, code=2)
    assert run.err.count("\n") == 1
    assert '"/nothing/there": No such file or directory' in run.err


def test_help():
    run = bench("--help")
    assert run.out.startswith("usage: rivulet bench ")
    assert run.err == ""


def test_the_man_page_has_every_option():
    page = (ROOT / "docs" / "man" / "rivulet-bench.1").read_text(encoding="utf-8")
    options = re.findall(r"(?:-(\w), )?--([\w.-]+)", bench("--help").out.split("\n\n", 2)[2])
    assert len(options) > 30
    for letter, name in options:
        words = f"Fl {letter} , Fl Fl {name}" if letter else f"Fl Fl {name}"
        assert f".It {words}" in page, name


# ---- what is printed -----------------------------------------------------------------------------

def test_a_pipe_gets_no_progress(recorder):
    run = bench("-t", "1200ms", "-c", 1, "--think", "10ms", recorder.url())
    assert "\r" not in run.err and "\033" not in run.err


def read_terminal(descriptor):
    text = b""
    while select.select([descriptor], [], [], TIMEOUT_S)[0]:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # EIO: the other side is gone
            break
        if not piece:
            break
        text += piece
    return text.decode()


@pytest.mark.parametrize("words, shown", [([], True), (["-q"], False)])
def test_a_terminal_gets_a_line_that_is_gone_at_the_end(recorder, words, shown):
    ours, its = pty.openpty()
    process = start("-t", "3200ms", "-c", 1, "--think", "10ms", *words, recorder.url(),
                    stdout=subprocess.DEVNULL, stderr=its)
    os.close(its)
    text = read_terminal(ours)
    os.close(ours)
    assert process.wait(TIMEOUT_S) == 0
    if not shown:
        assert text == ""
        return
    lines = re.findall(r"\r([^\r]*?/s  0 failed  p99 [^\r]*? left)\033\[K", text)
    assert len(lines) >= 2  # of six: the machine may be busy
    assert text.endswith("\r\033[K")


def test_quiet_leaves_notes_out(recorder):
    run = bench("-q", "-n", 3, "-c", 5, recorder.url())
    assert run.err == ""
    assert run.out != ""


def test_the_command_line_is_kept(recorder):
    words = ["-n", 1, "-H", "X: it's", recorder.url("/?a=b&c")]
    command = result(*words)["command"]
    assert shlex.split(command) == \
        ["rivulet", "bench", "-q", "--format", "json", *map(str, words)]


@pytest.mark.parametrize("form, says", [
    ("text", "closed loop, 2 clients"), ("json", '"format": "rivulet-result"'),
    ("csv", "start_s,length_s,answered,"), ("ab", "Complete requests:      10\n"),
    ("cherrypy", "Completed | Failed |")])
def test_forms_of_the_report(recorder, form, says):
    assert says in bench("-q", "-n", 10, "-c", 2, "--format", form, recorder.url()).out


def test_the_result_is_saved_beside_the_report(recorder, tmp_path):
    path = tmp_path / "result.json"
    run = bench("-q", "-n", 10, "-c", 2, "-o", path, "--format", "csv", recorder.url())
    assert run.out.startswith("start_s,")
    assert json.loads(path.read_text())["requests"]["answered"] == 10


def test_a_report_that_cannot_be_written_is_an_error(recorder):
    with open("/dev/full", "w", encoding="ascii") as full:
        process = start("-q", "-n", 10, recorder.url(), stdout=full, stderr=subprocess.PIPE,
                        text=True)
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 2
    assert err == "rivulet bench: the report could not be written: No space left on device\n"


def test_a_result_cannot_be_saved_into_a_directory(recorder, tmp_path):
    run = bench("-n", 10, "-o", tmp_path, recorder.url(), code=2)
    assert run.err == f'rivulet bench: cannot write "{tmp_path}": Is a directory\n'
    assert recorder.requests == []
