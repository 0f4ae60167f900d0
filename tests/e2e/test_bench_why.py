"""`rivulet bench` says why: a server for each cause, and its twin which must not be blamed for it."""

import contextlib
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys

import pytest

from support.command import TIMEOUT_S, rivulet
from support.scripted import refusing
from support.server import ROOT, program

pytestmark = pytest.mark.alone

CAUSE = ["env", f"PYTHONPATH={ROOT / 'tests'}", sys.executable, "-m", "support.cause"]

# A network of one's own: nobody else's counters, and limits that may be set. Not everywhere allowed.
OWN_NETWORK = ["unshare", "--user", "--map-root-user", "--net"]


def has_own_network():
    if shutil.which("unshare") is None or shutil.which("ip") is None:
        return False
    return subprocess.run(OWN_NETWORK + ["ip", "link", "set", "lo", "up"], capture_output=True,
                          check=False).returncode == 0


needs_own_network = pytest.mark.skipif(not has_own_network(), reason="no network namespace for us")


@contextlib.contextmanager
def cause(*words, cpu=None):
    """The port of a server in tests/support/cause.py."""
    def bind():
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})

    server = subprocess.Popen([*CAUSE, *map(str, words)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, preexec_fn=bind)
    try:
        yield int(server.stdout.readline())
    finally:
        server.stdin.close()
        server.wait(10)
        server.stdout.close()


class Run:
    def __init__(self, ended, saved):
        self.out, self.err = ended.out, ended.err
        self.json = json.loads(saved.read_text()) if saved.exists() else None

    @property
    def why(self):
        """The findings, each in one line."""
        _, start, rest = self.out.partition("\nWhy\n")
        text = rest.partition("\nChecks")[0] if start else ""
        return [re.sub(r"\s+", " ", finding).strip()
                for finding in re.split(r"^ ?\d+\. ", text, flags=re.MULTILINE)[1:]]

    def finding(self, start):
        found = [finding for finding in self.why if finding.startswith(start)]
        assert len(found) == 1, self.out
        return found[0]

    def has(self, start):
        return any(finding.startswith(start) for finding in self.why)

    @property
    def verdict(self):
        return self.out.splitlines()[1]

    def line(self, label):
        (line,) = re.findall(rf"^{label} +(.*)$", self.out, flags=re.MULTILINE)
        return line


@pytest.fixture
def bench(tmp_path):
    """Runs `rivulet bench`, and saves its result."""
    def run(*words, **options):
        saved = tmp_path / "result.json"
        saved.unlink(missing_ok=True)
        return Run(rivulet("bench", "-o", saved, *words, **options), saved)

    return run


def url(port, path="/ok"):
    return f"http://127.0.0.1:{port}{path}"


# ---- the way there -------------------------------------------------------------------------------

def test_a_good_server_needs_no_reasons(bench):
    with cause("good") as port:
        run = bench("-n", 400, "-c", 4, url(port))
    assert not run.why or run.has("Client and server took CPU time"), run.out
    assert run.line("Checks") == "8 of 8 laws hold"
    assert run.line("Answers") == "200: 400"


def dropped_by(port):
    """What the kernel has dropped at the listener since it was opened."""
    shown = subprocess.run(["ss", "--listening", "--tcp", "--memory", "--numeric",
                            f"sport = :{port}"], capture_output=True, text=True, check=True).stdout
    (drops,) = re.findall(r"skmem:\(.*,d(\d+)\)", shown)
    return int(drops)


@pytest.mark.skipif(shutil.which("ss") is None, reason="no ss here")
def test_an_accept_queue_that_overflows_is_named_with_the_kernels_numbers(bench):
    with cause("accepts_late", 4, 1500) as port:
        run = bench("-n", 40, "-c", 20, url(port))
        drops = dropped_by(port)
    finding = run.finding("Accept queue overflow")
    assert f"listener 127.0.0.1:{port} has a backlog of 4, the longest queue seen was 5 " in finding
    assert f"; the listener's own drop counter rose by {drops}." in finding
    assert int(re.search(r"the kernel dropped (\d+) SYNs", finding)[1]) >= 15
    assert drops >= 15
    assert re.search(r" 15 connects? took 2 s", finding) or " took 1 s" in finding, finding
    waited = sum(int(count) for count in re.findall(r"(\d+)(?: connects?)? took \d+ s", finding))
    assert waited == 15
    assert "Raise the backlog of listen() (now 4;" in finding
    assert f"accept queue: peak 5, limit 4, drop counter +{drops}" in run.out
    assert "note: 20 clients connect at once, the accept queue" in run.err
    assert "holds 5 (listen backlog 4)" in run.err


@needs_own_network
def test_overflows_are_the_kernels_own_count(tmp_path):
    """Alone in its network: the counters of the report are the whole machine's."""
    script = f"""
        ip link set lo up
        ({shlex.join(CAUSE)} accepts_late 4 1200 < hold > port) & server=$!
        exec 9> hold
        while ! [ -s port ]; do sleep 0.02; done
        {program("rivulet")} bench -q -n 24 -c 12 -o result.json http://127.0.0.1:$(cat port)/ok > /dev/null
        grep ^TcpExt /proc/net/netstat
        exec 9>&-
        wait $server
    """
    os.mkfifo(tmp_path / "hold")
    shown = subprocess.run([*OWN_NETWORK, "sh", "-ec", script], cwd=tmp_path, capture_output=True,
                           text=True, timeout=TIMEOUT_S, check=False)
    assert shown.returncode == 0, shown.stderr
    names, numbers = (line.split()[1:] for line in shown.stdout.splitlines())
    kernel = dict(zip(names, map(int, numbers)))
    saved = json.loads((tmp_path / "result.json").read_text())
    counters = saved["evidence"]["counters"]
    assert counters["ListenOverflows"] == kernel["ListenOverflows"] >= 7
    assert counters["ListenDrops"] == kernel["ListenDrops"] >= 7
    assert counters["TCPSynRetrans"] == kernel["TCPSynRetrans"] >= 7
    assert saved["evidence"]["server"]["queue_drops"] == kernel["ListenDrops"]


def test_a_queue_that_is_long_enough_does_not_overflow(bench):
    with cause("accepts_late", 64, 300) as port:
        run = bench("-n", 40, "-c", 20, url(port))
    assert not run.has("Accept queue overflow")
    assert "accept queue: peak 20, limit 64, drop counter +0" in run.out


def test_a_port_where_nobody_listens(bench):
    with refusing() as port:
        run = bench("-n", 40, "-c", 4, url(port), code=2)
    assert run.finding("No listener: all ").endswith(
        f"connects to 127.0.0.1 port {port} were refused, nobody listens there. So the run was "
        "given up. -> Start the server, or check host and port.")
    assert run.verdict == "INVALID: nothing was answered"
    assert "connection refused  (ECONNREFUSED " in run.line("Failed")


def test_a_unix_socket_that_is_not_there(bench, tmp_path):
    run = bench("-n", 4, "-c", 2, "--unix-socket", tmp_path / "nobody", "http://x/", code=2)
    assert "found no unix socket at the path" in run.finding("No listener")


# ---- limits here ---------------------------------------------------------------------------------

def test_too_few_descriptors_here_are_refused_with_the_remedy(bench):
    with cause("good") as port:
        run = bench("-n", 100, "-c", 100, url(port), code=2,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        (needed, limit, clients) = re.search(
            r"100 clients: needs (\d+) descriptors, the limit is (\d+): run with -c (\d+), or raise "
            r"it with `ulimit -n \1`", run.err).groups()
        assert run.out == "" and limit == "64"
        for number, code in ((int(clients), 0), (int(clients) + 1, 2)):
            bench("-n", number, "-c", number, url(port), code=code,
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
        bench("-n", 100, "-c", 100, url(port),
              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (int(needed),) * 2))


def test_the_soft_limit_of_descriptors_is_raised(bench):
    with cause("good") as port:
        run = bench("-n", 100, "-c", 100, url(port),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256)))
    assert "100 opened" in run.line("Connections")


def own_ports(listener_first):
    """Ten source ports, one of which the listener takes when it comes second."""
    limit = 'echo "50000 50009" > /proc/sys/net/ipv4/ip_local_port_range'
    return [*OWN_NETWORK, "sh", "-ec", f"""
        ip link set lo up
        {":" if listener_first else limit}
        rm -f hold port
        mkfifo hold
        ({shlex.join(CAUSE)} good < hold > port) & server=$!
        exec 9> hold
        while ! [ -s port ]; do sleep 0.02; done
        {limit}
        "$@" "http://127.0.0.1:$(cat port)/ok" && code=0 || code=$?
        exec 9>&-
        wait $server
        exit $code""", "sh"]


@needs_own_network
def test_too_few_source_ports_are_refused_with_the_remedy(bench, tmp_path):
    own = {"before": own_ports(listener_first=True), "cwd": tmp_path}
    run = bench("-n", 11, "-c", 11, code=2, **own)
    assert ("11 clients need as many source ports, there are 10 (1 source address, "
            "net.ipv4.ip_local_port_range 50000-50009): run with -c 10, or with --source "
            "127.0.0.0/8") in run.err
    run = bench("-n", 10, "-c", 10, **own)
    assert run.line("Connections").startswith("10 opened (10 tries)")
    assert not run.has("Source ports used up")
    run = bench("-n", 30, "-c", 30, "--source", "127.0.0.0/8", **own)
    assert run.line("Connections").startswith("30 opened (30 tries)")


@needs_own_network
def test_source_ports_that_are_used_up_are_named(bench, tmp_path):
    """What else holds a port of the range is known only when none is left."""
    run = bench("-n", 20, "-c", 10, before=own_ports(listener_first=False), cwd=tmp_path)
    finding = run.finding("Source ports used up on this machine: ")
    assert re.search(r": \d+ connects found none free \(EADDRNOTAVAIL\), with 9 connections open at the "
                     r"most; net.ipv4.ip_local_port_range 50000-50009 gives 10 for each", finding)
    assert "no free source port here  (EADDRNOTAVAIL " in run.line("Failed")


# ---- the server ----------------------------------------------------------------------------------

def test_a_server_that_is_out_of_descriptors(bench):
    with cause("few_descriptors", 20) as port:
        run = bench("-t", "1500ms", "-c", 40, "--timeout", "10s", url(port))
    finding = run.finding("The server is out of descriptors")
    assert re.search(r"\(pid \d+\) had 20 of 20 open, and connections waited in its accept queue "
                     r"\(peak \d+, limit 1024\)", finding), finding
    assert "ulimit -n" in finding
    assert "may have only 20 descriptors open" in run.err
    assert "requests had no answer at the end, the oldest for 1." in run.verdict


def test_a_server_with_descriptors_enough_is_not_out_of_them(bench):
    with cause("few_descriptors", 100) as port:
        run = bench("-t", "500ms", "-c", 40, url(port))
    assert not run.has("The server is out of descriptors")


def test_a_pool_of_two_is_measured_from_outside(bench):
    with cause("pool", 2, 20) as port:
        run = bench("-t", "2s", "-c", 10, url(port))
    finding = run.finding("The server worked on only about ")
    size = float(re.search(r"only about ([\d.]+) requests at a time", finding)[1])
    assert 1.7 <= size <= 2.2, finding
    assert "it waits, it does not compute" in finding


def test_a_pool_that_is_large_enough_is_no_limit(bench):
    with cause("pool", 10, 20) as port:
        run = bench("-t", "1s", "-c", 10, url(port))
    assert not run.has("The server worked on only about ")


def test_a_keep_alive_race_is_named_and_loses_nothing(bench):
    with cause("closes_idle", 10) as port:
        run = bench("-n", 200, "-c", 4, url(port))
    races = int(re.search(r"(\d+) races", run.line("Connections"))[1])
    assert races >= 12
    assert run.finding("Keep-alive race").startswith(
        f"Keep-alive race: {races} requests met a connection that the server was just closing, and "
        "were sent again")
    assert "200 answered, 0 failed" in run.line("Requests")


def test_a_server_that_closes_after_each_answer(bench):
    with cause("closes_each") as port:
        run = bench("-n", 100, "-c", 2, url(port))
    assert run.finding("No keep-alive: the server closed the connection after ")
    assert "100 answered, 0 failed" in run.line("Requests")


def test_closing_on_purpose_is_not_held_against_the_server(bench):
    with cause("good") as port:
        run = bench("-n", 100, "-c", 2, "--no-keepalive", url(port))
    assert not run.has("No keep-alive")
    assert not run.has("Keep-alive race")


def test_a_server_at_the_limit_of_its_cpu(bench):
    with cause("computes", 5000, cpu=min(os.sched_getaffinity(0))) as port:
        for _ in range(4): # others may keep the server from its CPU: then it is not the limit
            run = bench("-t", "2s", "-c", 8, "--cpus", max(os.sched_getaffinity(0)), url(port))
            if "other processes kept" not in run.verdict:
                break
    assert "of the 1 CPU that it may run on" in run.finding("The server was short of CPU time")
    assert not run.has("The server worked on only about ")
    cost = float(re.search(r"([\d.]+) us CPU per answer", run.out.partition("\nServer")[2])[1])
    assert 4500 <= cost <= 8000


def test_a_server_that_does_not_answer(bench):
    with cause("silent") as port:
        run = bench("-n", 8, "-c", 4, "--timeout", "300ms", url(port), code=2)
    assert run.finding("No answer in time: 8 requests were given up after 300 ms: 8 before the first byte")
    assert "8 no answer within the time limit" in run.line("Failed")


@pytest.mark.slow
def test_a_pause_of_the_whole_server(bench):
    with cause("pauses", 2500, 900) as port:
        run = bench("-t", "6s", "-c", 8, url(port))
    finding = run.finding("One stall of ")
    length, unit, seen = re.match(r"One stall of ([\d.]+) (m?s) hit all: (\d+) of 8 clients", finding).groups()
    assert 0.8 <= float(length) / (1000 if unit == "ms" else 1) <= 1.3
    assert int(seen) == 8


def test_all_answers_errors(bench, demo):
    run = bench("-n", 50, "-c", 2, demo.url("/is-not-there"))
    assert run.finding("All 50 answers were errors: 50 x 404.")
    assert run.verdict.startswith("SUSPECT: all 50 answers were errors, most of them 404")
