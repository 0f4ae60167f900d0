"""How it stops: running requests end well, new ones find nobody, a second signal is final."""

import signal
import socket
import time

import pytest

from support.client import Client, ask_once, get, is_open, post, pour_in
from support.command import rivulet
from support.waiting import wait_until

OK = get("/ok")
SIGNALS = pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)


def no_longer_open(server):
    wait_until(lambda: not is_open(server.port), 5, "the listeners' end")


@SIGNALS
def test_an_idle_server_stops_at_once_with_0(servers, number):
    server = servers.demo()
    ask_once(server.port, OK)
    started = time.monotonic()
    server.signal(number)
    assert server.wait() == 0
    assert time.monotonic() - started < 3


@SIGNALS
def test_a_running_request_is_finished_and_told_close(servers, number):
    server = servers.demo()
    with Client(server.port) as client:
        client.send(get("/sleep?ms=1500"))
        time.sleep(0.3)
        server.signal(number)
        answer = client.answer()
        assert answer.status == 200 and answer.says_close
        client.end_s()
    assert server.wait() == 0


def test_a_running_download_is_finished(servers):
    server = servers.demo()
    size = 32 << 20
    with Client(server.port, receive_buffer=65536) as client:
        client.send(get(f"/sizer?size={size}"))
        client.receive(5)
        server.signal()
        no_longer_open(server)
        count, ended = pour_in(client, 5, 30)
        assert ended and count > size
    assert server.wait() == 0


def test_a_running_upload_is_finished(servers):
    server = servers.demo()
    with Client(server.port) as client:
        client.send(post("/echo", b"x" * 10)[:-5])
        client.receive(5)
        server.signal()
        no_longer_open(server)
        client.send(b"y" * 5)
        assert client.answer().body == b"x" * 5 + b"y" * 5
        client.end_s()
    assert server.wait() == 0


def test_new_connections_are_refused_while_it_stops(servers):
    server = servers.demo()
    with Client(server.port) as client:
        client.send(get("/sleep?ms=2000"))
        time.sleep(0.2)
        server.signal()
        no_longer_open(server)
        assert server.process.poll() is None
        assert client.answer().status == 200
    assert server.wait() == 0


def test_idle_connections_are_closed_at_once(servers):
    server = servers.demo()
    idle, busy = Client(server.port), Client(server.port)
    idle.ask(OK)
    busy.send(get("/sleep?ms=2500"))
    time.sleep(0.2)
    server.signal()
    assert idle.end_s(2) < 1.5
    assert busy.answer().status == 200
    idle.close()
    busy.close()


def test_requests_that_are_already_on_their_way_are_answered_or_cleanly_refused(servers):
    server = servers.demo()
    with Client(server.port) as client:
        client.send(get("/sleep?ms=800") + OK)
        time.sleep(0.2)
        server.signal()
        assert client.answer().says_close
        assert client.rest() == b""


@pytest.mark.slow
def test_what_takes_longer_than_the_grace_is_cut(servers):
    server = servers.demo()
    with Client(server.port, timeout_s=30) as client:
        client.send(get("/sleep?ms=20000"))
        time.sleep(0.3)
        started = time.monotonic()
        server.signal()
        assert server.wait() == 0
        assert 4.5 < time.monotonic() - started < 9


@SIGNALS
def test_a_second_signal_ends_at_once(servers, number):
    server = servers.demo()
    with Client(server.port) as client:
        client.send(get("/sleep?ms=20000"))
        time.sleep(0.3)
        server.signal(number)
        no_longer_open(server)
        started = time.monotonic()
        server.signal(number)
        server.wait()
        assert time.monotonic() - started < 2.5


@pytest.mark.slow
def test_silent_connections_do_not_delay_the_stop(servers):
    server = servers.demo()
    silent = [Client(server.port) for _ in range(20)]
    half = Client(server.port)
    half.send(b"GET / HT")
    time.sleep(0.2)
    started = time.monotonic()
    server.signal()
    assert server.wait() == 0
    assert time.monotonic() - started < 7
    for client in silent + [half]:
        client.close()


@pytest.mark.slow
def test_a_client_that_never_reads_does_not_outlast_the_grace(servers):
    server = servers.demo()
    with Client(server.port, receive_buffer=4096) as client:
        client.send(get("/sizer?size=1000000000"))
        client.receive(5)
        started = time.monotonic()
        server.signal()
        assert server.wait() == 0
        assert time.monotonic() - started < 9


def test_blocking_handlers_are_finished(servers):
    server = servers.wire(pool=2)
    with Client(server.port) as client:
        client.send(get("/pool?ms=1200"))
        time.sleep(0.3)
        server.signal()
        assert client.answer().body == b"pool\n"
    assert server.wait() == 0


def test_deferred_answers_are_finished(servers):
    server = servers.wire()
    with Client(server.port) as client:
        client.send(get("/deferred?ms=1200"))
        time.sleep(0.3)
        server.signal()
        assert client.answer().body == b"deferred\n"
    assert server.wait() == 0


def test_the_grace_can_be_short(servers):
    server = servers.wire(grace_ms=300)
    with Client(server.port) as client:
        client.send(get("/slow?ms=20000"))
        time.sleep(0.3)
        started = time.monotonic()
        server.signal()
        assert server.wait() == 0
        assert time.monotonic() - started < 3


def test_the_port_is_free_afterwards(servers):
    server = servers.demo()
    port = server.port
    ask_once(port, OK)
    server.stop()
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_the_path_is_gone_afterwards(servers, tmp_path):
    path = tmp_path / "rivulet.socket"
    server = servers.demo(listen=[f"unix:{path}"])
    server.stop()
    assert not path.exists()


def test_a_stop_right_after_the_start_is_heard(servers):
    for _ in range(10):
        server = servers.demo()
        server.signal()
        assert server.wait() == 0


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_the_command_stops_a_server_through_its_stop_port(servers):
    port = free_port()
    server = servers.demo("--stop-port", str(port))
    with Client(server.port) as client:
        client.send(get("/sleep?ms=800"))
        time.sleep(0.3)
        stopped = rivulet("stop", "--port", port)
        assert (stopped.out, stopped.err) == ("", "")
        assert client.answer().status == 200
    assert server.wait() == 0
    assert rivulet("stop", "--port", port, code=2).err == (
        f"rivulet stop: cannot stop a server through 127.0.0.1:{port}: nobody listens there; was it "
        "started with --stop-port?\n"
    )


@pytest.mark.parametrize("arguments", [["--port", "0"], ["--port", "x"], ["--port"], ["x"], ["--y"]])
def test_a_wrong_command_line_of_stop_is_a_usage_error(arguments):
    stopped = rivulet("stop", *arguments, code=1)
    assert stopped.err.startswith("rivulet stop: ") and stopped.err.count("\n") == 1
