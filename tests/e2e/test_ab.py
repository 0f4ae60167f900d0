"""`rivulet ab` beside ApacheBench: the same command line against the same server gives the same report,
label for label and column for column, with the same counts; and the server sees the same octets.

Where ApacheBench is wrong, test_ab_truth.py says what is right.
"""

import re
import shutil
import subprocess

import pytest

from support import apachebench
from support.scripted import Scripted, answer, refusing
from support.server import program, sanitizer_environment
from support.waiting import wait_until

pytestmark = [pytest.mark.alone,
              pytest.mark.skipif(not apachebench.installed(), reason="no ab here"),
              pytest.mark.timeout(120)]

BODY = b"hello\n" * 100


@pytest.fixture
def pair(tmp_path):
    return apachebench.Pair(tmp_path)


def same_report(theirs, ours):
    """Both reports have the same lines, and those that count things have the same values."""
    assert (theirs.status, ours.status) == (0, 0), f"{theirs}\n{ours}"
    assert ours.counted == theirs.counted
    assert ours.failures == theirs.failures
    assert ours.shape == theirs.shape


# ---- the report ----------------------------------------------------------------------------------

OPTIONS = {
    "one": "/ok",
    "several at a time": "-n 50 -c 5 /ok",
    "kept": "-n 50 -c 5 -k /ok",
    "with a query": "-n 5 -k /sizer?size=1000",
    "large": "-n 20 -c 2 -k /sizer?size=1000000",
    "empty": "-n 5 -k /sizer?size=0",
    "not found": "-n 9 -k /nowhere",
    "head": "-n 5 -i /hello",
    "head, kept": "-n 5 -i -k /hello",
    "post": "-n 5 -p BODY /echo",
    "post, kept": "-n 50 -c 5 -k -p BODY -T a/b /echo",
    "put": "-n 5 -k -u BODY /echo",
    "post of nothing": "-n 5 -k -p EMPTY /echo",
    "patch": "-n 5 -k -p BODY -m PATCH /echo",
    "another method": "-n 5 -k -m DELETE /ok",
    "any length": "-n 5 -l -k /hello",
    "no statistics": "-n 5 -S /hello",
    "no percentages": "-n 5 -d /hello",
    "neither": "-n 5 -S -d -k /hello",
    "fields": "-n 5 -H X-A:1 -H X-B:2 -C a=b -A u:p -P x:y /hello",
    "buffers": "-n 5 -b 16384 /sizer?size=100000",
    "a local address": "-n 5 -B 127.0.0.5 /ok",
    "limits": "-n 5 -s 9 -r -k /ok",
    "a time that is not used up": "-t 30 -n 20 -k /ok",
    "without TLS nothing to say to it": "-n 5 -I /ok",
}


def words_of(text, pair, url):
    """The words of a command line whose last one is a path at `url`."""
    pair.file("body", BODY)
    pair.file("empty", b"")
    names = {"BODY": str(pair.folder / "body"), "EMPTY": str(pair.folder / "empty")}
    *words, path = text.split(" ")
    return [names.get(word, word) for word in words] + [url + path]


@pytest.mark.parametrize("text", OPTIONS.values(), ids=OPTIONS.keys())
def test_reports_are_the_same(pair, demo, text):
    same_report(*pair.both(*words_of(text, pair, f"127.0.0.1:{demo.port}")))


def test_a_scheme_makes_no_difference(pair, demo):
    same_report(*pair.both("-n", 3, demo.url("/ok")))


def test_ipv6(pair, servers):
    server = servers.demo(listen=("[::1]:0",))
    theirs, ours = pair.both("-n", 3, "-k", f"http://[::1]:{server.port}/ok")
    same_report(theirs, ours)
    assert ours.before == theirs.before
    assert ours.value("Server Hostname") == "::1"


def test_through_a_proxy(pair, demo):
    words = ("-n", 3, "-X", f"127.0.0.1:{demo.port}", f"http://127.0.0.1:{demo.port}/hello")
    theirs, ours = pair.both(*words)
    same_report(theirs, ours)
    assert ours.before == theirs.before
    assert ours.value("Document Path") == "/hello"


def test_lengths_that_differ_from_the_first_are_failures(pair):
    """And answers: their octets and their times count."""

    def script(conversation):
        request = conversation.request()
        conversation.send(answer(b"x" * (1 + request.number % 3), version="1.0"))

    with Scripted(script) as server:
        theirs, ours = pair.both("-n", 9, server.url())
        same_report(theirs, ours)
        assert ours.failures == (0, 0, 6, 0)
        assert ours.value("Complete requests") == "9"
        theirs, ours = pair.both("-n", 9, "-l", server.url())
        same_report(theirs, ours)
        assert ours.value("Failed requests") == "0"


def test_the_name_of_the_server_ends_at_a_space(pair):
    def script(conversation):
        conversation.request()
        conversation.send(answer(fields="Server: one/1.0 (two) three\r\n", version="1.0"))

    with Scripted(script) as server:
        theirs, ours = pair.both("-n", 2, server.url())
        same_report(theirs, ours)
        assert ours.value("Server Software") == "one/1.0"


def test_many_kept_connections(pair, demo):
    theirs, ours = pair.both("-n", 2000, "-c", 100, "-k", demo.url("/ok"))
    same_report(theirs, ours)
    assert ours.value("Keep-Alive requests") == "2000"


def test_the_rates_belong_to_each_other(pair, demo):
    ours = pair.ours("-n", 400, "-c", 8, "-k", demo.url("/hello"))
    rate = ours.number(r"Requests per second: +([0-9.]+) \[#/sec\] \(mean\)$")
    seconds = ours.number(r"Time taken for tests: +([0-9.]+) seconds$")
    client_ms = ours.number(r"Time per request: +([0-9.]+) \[ms\] \(mean\)$")
    request_ms = ours.number(r"Time per request: +([0-9.]+) \[ms\] \(mean, across all")
    kib = ours.number(r"Transfer rate: +([0-9.]+) \[Kbytes/sec\] received$")
    octets = int(ours.value("Total transferred").split()[0])
    assert 400 / rate == pytest.approx(seconds, abs=0.001)
    assert request_ms == pytest.approx(1000 / rate, abs=0.001)
    assert client_ms == pytest.approx(8 * request_ms, abs=0.008)
    assert kib == pytest.approx(octets / 1024 * rate / 400, rel=0.001)


def test_times_are_those_that_the_server_takes(pair):
    """Known delays, one request at a time: both programs see them."""
    delays_ms = (20, 40, 60, 80, 300)

    def script(conversation):
        request = conversation.request()
        conversation.wait(delays_ms[request.number % 5] / 1000)
        conversation.send(answer(version="1.0"))

    with Scripted(script) as server:
        theirs, ours = pair.both("-n", 5, server.url())
        for outcome in (theirs, ours):
            least, mean, _, _, most = outcome.row("Total")
            assert least >= 20 and mean >= 100 and 300 <= most < 2000, outcome
            assert outcome.number(r" 100% +(\d+) \(longest request\)$") == most


# ---- what is read by programs --------------------------------------------------------------------

CHERRYPY = (r"^Complete requests:\s*(\d+)",
            r"^Failed requests:\s*(\d+)",
            r"^Requests per second:\s*([0-9.]+)",
            r"^Time per request:\s*([0-9.]+).*concurrent requests\)$",
            r"^Transfer rate:\s*([0-9.]+)")


def test_cherrypys_five_patterns_match(pair, demo):
    """Its benchmark runs `ab -k -n 1000 -c N` and reads stdout and stderr as one."""
    done = subprocess.run([pair.link, "-k", "-n", "1000", "-c", "25", demo.url("/hello")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                          env=sanitizer_environment(), check=True)
    first = done.stdout.split("\n", 1)[0]
    assert not re.search("not recognized|No such file|not found", first, re.I)
    values = [re.search(pattern, done.stdout, re.M)[1] for pattern in CHERRYPY]
    assert values[:2] == ["1000", "0"]
    assert all(float(value) > 0 for value in values[2:])


@pytest.mark.parametrize("count", (1, 7, 100, 1000))
def test_files_have_the_same_lines(pair, demo, count):
    """-e and -g: the same header, as many rows, each of the same form, in the order of times."""
    rows = {}
    for name, run in (("theirs", pair.theirs), ("ours", pair.ours)):
        table, plot = pair.folder / f"{name}.csv", pair.folder / f"{name}.tsv"
        outcome = run("-q", "-n", count, "-k", "-e", table, "-g", plot, demo.url("/ok"))
        assert outcome.status == 0, outcome
        rows[name] = table.read_text().splitlines(), plot.read_text().splitlines()
    for ours, theirs in zip(rows["ours"], rows["theirs"]):
        assert ours[0] == theirs[0]
        assert len(ours) == len(theirs)
    table, plot = rows["ours"]
    assert [row.split(",")[0] for row in table[1:]] == [str(i) for i in range(101)]
    assert all(re.fullmatch(r"\d+,\d+\.\d{3}", row) for row in table[1:])
    served = [float(row.split(",")[1]) for row in table[1:]]
    assert served == sorted(served)
    line = re.compile(r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4}\t\d{10}(\t\d+){4}")
    assert all(line.fullmatch(row) for rows_of in rows.values() for row in rows_of[1][1:])
    totals = [int(row.split("\t")[4]) for row in plot[1:]]
    assert len(totals) == count and totals == sorted(totals)


def test_html_has_the_same_tables(pair, demo):
    def cells(outcome):
        return re.sub(r"\d+\.\d+", "N.N", re.sub(r"> *\d+</td></tr>$|> *\d+<(?=/td><)", ">N<",
                                                 outcome.report, flags=re.M))

    for words in (["-w"], ["-w", "-k"], ["-x", "border=1", "-y", "class=r", "-z", "class=c"]):
        theirs, ours = pair.both("-n", 9, *words, demo.url("/hello"))
        assert cells(ours) == cells(theirs)
        assert ours.before == theirs.before
        assert re.search(r"Complete requests:</th><td colspan=2 .*>9</td>", ours.report)


def test_html_of_a_body_and_of_failures(pair):
    def script(conversation):
        request = conversation.request()
        conversation.send(answer(b"x" * request.number, status="404 Not Found", version="1.0"))

    with Scripted(script) as server:
        theirs, ours = pair.both("-n", 3, "-w", "-p", pair.file("body", BODY), server.url())
        labels = re.compile(r"<th[^>]*>([^<]*)|>[0-9.]+ (kb/s [a-z]+)")
        assert labels.findall(ours.report) == labels.findall(theirs.report)
        assert "(Connect: 0, Receive: 0, Length: 2, Exceptions: 0)" in ours.report


# ---- progress and words --------------------------------------------------------------------------

@pytest.mark.parametrize("words", (("-n", 150), ("-n", 151), ("-n", 1000), ("-n", 2345),
                                   ("-q", "-n", 1000)), ids=str)
def test_progress_is_told_in_the_same_lines(pair, demo, words):
    theirs, ours = pair.both(*words, "-k", demo.url("/ok"))
    assert ours.stderr == theirs.stderr
    assert ours.before == theirs.before


def test_the_request_is_shown(pair, demo):
    theirs, ours = pair.both("-v", 2, "-n", 1, "-k", "-p", pair.file("body", BODY),
                             demo.url("/echo"))
    end = "\n---\n"
    assert ours.before.split(end)[0] == theirs.before.split(end)[0]
    assert "Connection: Keep-Alive\r\nContent-length: 600\r\n" in ours.before
    assert "LOG: header received:\nHTTP/1.1 200 OK\r\nServer: rivulet\r\n" in ours.before


def test_statuses_are_shown(pair, demo):
    line = re.compile(r"^(?:WARNING|LOG): Response code.*$", re.M)
    for words in (("-v", 1, "/ok"), ("-v", 2, "/ok"), ("-v", 3, "/ok"), ("-v", 2, "/nowhere"),
                  ("-v", 3, "/nowhere")):
        theirs, ours = pair.both(*words[:2], "-n", 3, demo.url(words[2]))
        assert line.findall(ours.before) == line.findall(theirs.before)


# ---- what the server sees ------------------------------------------------------------------------

REQUESTS = {
    "plain": "/a?b=c",
    "kept": "-k /a",
    "head": "-i /a",
    "method": "-m OPTIONS /a",
    "body": "-p BODY -T application/json /a",
    "put": "-u BODY -k /a",
    "empty body": "-p EMPTY /a",
    "patch": "-p BODY -m PATCH /a",
    "all fields": "-k -C a=1 -A user:secret -P proxy:secret -p BODY -H X-A:1 -H X-B:2 /a",
    "fields in place of its own": "-H host:x -H User-Agent:y -H ACCEPT:z -H Connection:w /a",
    "proxy": "-X PROXY -P a:b http://example.org/a?b",
    "proxy and port": "-X PROXY http://example.org:81/a",
    "proxy and the usual port": "-X PROXY http://example.org:80/",
}


@pytest.mark.parametrize("text", REQUESTS.values(), ids=REQUESTS.keys())
def test_requests_are_the_same_octets(pair, text):
    def script(conversation):
        for _ in conversation.requests():
            conversation.send(answer(b"", fields="Connection: keep-alive\r\n", version="1.0"))
            if " -k " not in f" {text}":
                return

    with Scripted(script) as server:
        here = f"127.0.0.1:{server.port}"
        words = words_of(text.replace("PROXY", here), pair, "" if "PROXY" in text else here)
        theirs, ours = pair.both("-n", 2, *words)
        assert (theirs.status, ours.status) == (0, 0), f"{theirs}\n{ours}"
        assert ours.value("Document Path") == theirs.value("Document Path")
        requests = [request.head.encode("latin-1") + request.body for request in server.heads]
        assert len(requests) == 4
        assert requests[2:] == requests[:2]


# ---- what goes wrong -----------------------------------------------------------------------------

WRONG = {
    "nothing": ([], 22, "wrong number of arguments"),
    "two URLs": (["h/", "h/"], 22, "wrong number of arguments"),
    "no requests": (["-n", "0", "h/"], 1, "Invalid number of requests"),
    "requests that are none": (["-n", "x", "h/"], 1, "Invalid number of requests"),
    "more clients than requests": (["-c", "5", "-n", "2", "h/"], 22, "Cannot use concurrency "
                                   "level greater than total number of requests"),
    "negative concurrency": (["-c", "-1", "h/"], 22, "Invalid Concurrency [Range"),
    "POST and PUT": (["-p", "/dev/null", "-u", "/dev/null", "h/"], 1,
                     "Cannot mix PUT with other methods"),
    "HEAD and POST": (["-i", "-p", "/dev/null", "h/"], 1, "Cannot mix POST with other methods"),
    "POST and HEAD": (["-p", "/dev/null", "-i", "h/"], 1, "Cannot mix HEAD with other methods"),
    "method and PUT": (["-m", "X", "-u", "/dev/null", "h/"], 1,
                       "Cannot mix PUT with other methods"),
    "no such file": (["-p", "/nonexistent/file", "h/"], 1, "No such file or directory"),
    "no host": (["http:///x"], 22, "invalid URL"),
    "an impossible port": (["127.0.0.1:99999/"], 22, "invalid URL"),
    "an option without its value": (["-n"], 22, "option requires an argument -- n"),
    "help": (["-h"], 22, " [options] [http"),
}


@pytest.mark.parametrize("words, status, message", WRONG.values(), ids=WRONG.keys())
def test_wrong_command_lines_end_alike(pair, words, status, message):
    for outcome in pair.both(*words):
        assert outcome.status == status
        assert message in outcome.stderr
        assert outcome.stdout == ""


def test_help_and_version(pair):
    ours = pair.ours("--help")
    assert ours.status == 0 and ours.stderr == ""
    assert ours.stdout == pair.ours("-h").stderr
    letters = "ncstbBpuTvwixyzCHAPXVkdSqlgermhIZfE"
    described = "".join(re.findall(r"(?<=\s)-(\w)(?= )", ours.stdout))
    assert sorted(set(described)) == sorted(set(letters))
    theirs, ours = pair.both("-V")
    assert ours.status == theirs.status == 0
    assert len(ours.stdout.splitlines()) == len(theirs.stdout.splitlines())
    assert "ApacheBench, Version 2.3" in ours.stdout


def test_refused(pair):
    with refusing() as port:
        for outcome in pair.both("-n", 30, f"127.0.0.1:{port}/a"):
            assert outcome.status == 111
            assert "Connection refused (111)" in outcome.stderr
            assert outcome.report == ""


def test_no_such_host(pair):
    """A name that no resolver is asked for: a label of it is empty."""
    for outcome in pair.both("a..b/"):
        assert outcome.status == 50
        assert "apr_sockaddr_info_get() for a..b: " in outcome.stderr
        assert "Name or service not known" in outcome.stderr


def test_a_reset_ends_the_run_without_r(pair):
    def script(conversation):
        for request in conversation.requests():
            if request.number % 3 == 0:
                conversation.reset()
            else:
                conversation.send(answer(version="1.0"))
            return

    with Scripted(script) as server:
        for outcome in pair.both("-n", 9, server.url()):
            assert outcome.status == 104
            assert "apr_socket_recv: Connection reset by peer (104)\n" in outcome.stderr
            assert "Total of 2 requests completed\n" in outcome.stdout
            assert outcome.report == ""
            server.requests = 0


def test_files_that_cannot_be_written(pair, demo):
    for option, kind in (("-e", "CSV"), ("-g", "gnuplot")):
        for outcome in pair.both(option, "/nonexistent/file", demo.url("/ok")):
            assert outcome.status == 1
            assert f"Cannot open {kind} output file: " in outcome.stderr
            assert "No such file or directory" in outcome.stderr


# ---- beside another server -----------------------------------------------------------------------

NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen unix:{folder}/socket; listen 127.0.0.1:{port}; root {folder}; }}
}}
"""


@pytest.fixture
def nginx(tmp_path):
    """Its address; it serves the 14 octets of /hello.html."""
    path = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if path is None:
        pytest.skip("no nginx here")
    with refusing() as port:
        pass
    folder = tmp_path / "nginx"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "hello.html").write_bytes(b"Hello, world\r\n")
    (folder / "conf").write_text(NGINX.format(folder=folder, port=port))
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([path, "-p", folder, "-c", folder / "conf"],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until((folder / "socket").exists, what="nginx's socket")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def test_reports_on_nginx_are_the_same(pair, nginx):
    for words in (("-n", 50, "-c", 5, "/hello.html"), ("-n", 50, "-c", 5, "-k", "/hello.html"),
                  ("-n", 9, "-k", "/nowhere"), ("-n", 9, "-i", "-k", "/hello.html"),
                  ("-n", 9, "-p", pair.file("body", BODY), "/hello.html")):
        same_report(*pair.both(*words[:-1], nginx + words[-1]))


def test_the_subcommand_is_the_same_program(pair, demo):
    done = subprocess.run([program("rivulet"), "ab", "-n", "3", demo.url("/ok")],
                          capture_output=True, text=True, timeout=30, check=True,
                          env=sanitizer_environment())
    outcome = apachebench.Outcome(done.returncode, done.stdout, done.stderr)
    ours = pair.ours("-n", 3, demo.url("/ok"))
    assert outcome.counted == ours.counted
    assert outcome.before == ours.before
