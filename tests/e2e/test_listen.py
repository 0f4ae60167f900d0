"""Where the command listens: every kind of address, several at once, and how long the queue is."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest

from support.client import Client, ask_once, get
from support.machine import needs_ipv6
from support.server import Server, program, sanitizer_environment
from support.waiting import wait_until

OK = get("/ok")
INHERITED = "LISTEN_FDS=1 LISTEN_PID=$$"


def somaxconn():
    return int(pathlib.Path("/proc/sys/net/core/somaxconn").read_text(encoding="ascii"))


def test_ipv4(servers):
    server = servers.demo(listen=["127.0.0.1:0"])
    assert server.addresses == [f"http://127.0.0.1:{server.port}"]
    assert ask_once(("127.0.0.1", server.port), OK).body == b"Ok"


@needs_ipv6
def test_ipv6(servers):
    server = servers.demo(listen=["[::1]:0"])
    assert server.addresses == [f"http://[::1]:{server.port}"]
    assert ask_once(("::1", server.port), OK).body == b"Ok"


@needs_ipv6
@pytest.mark.parametrize("address", [":0", "*:0"])
def test_dual_stack(servers, address):
    server = servers.demo(listen=[address])
    assert ask_once(("127.0.0.1", server.port), OK).body == b"Ok"
    assert ask_once(("::1", server.port), OK).body == b"Ok"


def test_every_ipv4_address(servers):
    server = servers.demo(listen=["0.0.0.0:0"])
    assert ask_once(("127.0.0.2", server.port), OK).body == b"Ok"


def test_a_name(servers):
    server = servers.demo(listen=["localhost:0"])
    assert ask_once(("localhost", server.port), OK).body == b"Ok"


def test_a_port_alone_is_local(servers):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    server = servers.demo(listen=[str(port)])
    assert server.addresses == [f"http://127.0.0.1:{port}"]
    assert ask_once(port, OK).body == b"Ok"


def test_port_0_is_told_as_it_really_is(servers):
    first, second = servers.demo(), servers.demo()
    assert first.port != second.port and first.port > 0
    assert ask_once(second.port, OK).body == b"Ok"


def test_all_workers_share_the_port_that_the_kernel_chose(servers):
    server = servers.demo("--workers", "4")
    assert len(server.addresses) == 1
    assert [ask_once(server.port, OK).body for _ in range(40)] == [b"Ok"] * 40


def test_unix_path(servers, tmp_path):
    path = str(tmp_path / "rivulet.socket")
    server = servers.demo(listen=[f"unix:{path}"])
    assert server.addresses == [f"unix:{path}"]
    assert ask_once(path, OK).body == b"Ok"


def test_unix_path_that_a_dead_server_left_behind(servers, tmp_path):
    path = str(tmp_path / "rivulet.socket")
    dead = Server([program("rivulet"), "serve", "--demo", "--listen", f"unix:{path}"])
    dead.signal(signal.SIGKILL)
    dead.wait()
    servers.demo(listen=[f"unix:{path}"])
    assert ask_once(path, OK).body == b"Ok"


def test_unix_path_that_a_living_server_has_is_left_alone(servers, tmp_path):
    path = str(tmp_path / "rivulet.socket")
    servers.demo(listen=[f"unix:{path}"])
    second = subprocess.run([program("rivulet"), "serve", "--demo", "--listen", f"unix:{path}"],
                            capture_output=True, text=True, timeout=30, check=False,
                            env=sanitizer_environment())
    assert second.returncode == 2 and path in second.stderr
    assert ask_once(path, OK).body == b"Ok"


def test_unix_path_that_is_no_socket_is_left_alone(tmp_path):
    path = tmp_path / "precious"
    path.write_text("data", encoding="ascii")
    result = subprocess.run([program("rivulet"), "serve", "--demo", "--listen", f"unix:{path}"],
                            capture_output=True, text=True, timeout=30, check=False,
                            env=sanitizer_environment())
    assert result.returncode == 2
    assert path.read_text(encoding="ascii") == "data"


def test_unix_abstract(servers):
    name = f"rivulet-test-{os.getpid()}"
    servers.demo(listen=[f"unix:@{name}"])
    assert ask_once(f"\0{name}", OK).body == b"Ok"


def test_unix_sockets_work_with_several_workers(servers, tmp_path):
    path = str(tmp_path / "rivulet.socket")
    servers.demo("--workers", "3", listen=[f"unix:{path}"])
    assert [ask_once(path, OK).body for _ in range(30)] == [b"Ok"] * 30


def test_several_at_once(servers, tmp_path):
    path = str(tmp_path / "rivulet.socket")
    server = servers.demo(listen=["127.0.0.1:0", "127.0.0.2:0", f"unix:{path}"])
    assert len(server.addresses) == 3
    ports = [int(a.rsplit(":", 1)[1]) for a in server.addresses if a.startswith("http")]
    assert ask_once(("127.0.0.1", ports[0]), OK).body == b"Ok"
    assert ask_once(("127.0.0.2", ports[1]), OK).body == b"Ok"
    assert ask_once(path, OK).body == b"Ok"


# ---- descriptors that are passed on --------------------------------------------------------------

def test_inherited_descriptors(servers):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = servers.with_descriptor(listener, INHERITED, "--listen", "inherited")
    assert server.port == port
    assert [ask_once(port, OK).body for _ in range(10)] == [b"Ok"] * 10


def test_an_open_descriptor_by_its_number(servers):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        servers.with_descriptor(listener, "", "--listen", "fd:3")
    assert [ask_once(port, OK).body for _ in range(10)] == [b"Ok"] * 10


def test_connections_that_waited_in_an_inherited_queue_are_served(servers):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        early = Client(listener.getsockname()[1])
        early.send(OK)
        servers.with_descriptor(listener, INHERITED, "--listen", "inherited")
    assert early.answer().body == b"Ok"
    early.close()


def test_inherited_without_descriptors_is_an_error():
    result = subprocess.run([program("rivulet"), "serve", "--demo", "--listen", "inherited"],
                            capture_output=True, text=True, timeout=30, check=False,
                            env=sanitizer_environment())
    assert result.returncode in (1, 2)
    assert "LISTEN_FDS" in result.stderr or "inherited" in result.stderr


# ---- the accept queue ----------------------------------------------------------------------------

def printed_backlog(server):
    server.stdout.wait_for(lambda lines: any("backlog" in line for line in lines), 10)
    line = next(line for line in server.stdout.all if "backlog" in line)
    return int(re.search(r"backlog (\d+)", line).group(1))


def test_the_backlog_is_4096_or_what_the_kernel_allows(servers):
    assert printed_backlog(servers.demo()) == min(4096, somaxconn())


def test_a_backlog_over_what_the_kernel_allows_is_told_as_it_is(servers):
    assert printed_backlog(servers.demo("--backlog", "65535")) == somaxconn()


def test_a_backlog_is_what_was_asked_for(servers):
    server = servers.demo("--backlog", "7", "--workers", "1")
    assert printed_backlog(server) == 7
    if shutil.which("ss"):
        lines = subprocess.run(["ss", "-Hltn", f"sport = :{server.port}"], capture_output=True,
                               text=True, check=True).stdout.splitlines()
        assert [int(line.split()[2]) for line in lines] == [7]


def test_a_burst_of_connections_finds_room(servers):
    server = servers.demo()
    clients = [Client(server.port) for _ in range(500)]
    for client in clients:
        client.send(OK)
    assert [client.answer().body for client in clients] == [b"Ok"] * 500
    for client in clients:
        client.close()


def test_listening_sockets_are_not_passed_on(servers):
    server = servers.demo()
    def flags(name):
        text = pathlib.Path(f"/proc/{server.pid}/fdinfo/{name}").read_text(encoding="ascii")
        return int(re.search(r"flags:\s*([0-7]+)", text).group(1), 8)
    with Client(server.port) as client:
        client.ask(OK)
        names = [name for name in os.listdir(f"/proc/{server.pid}/fd")
                 if os.readlink(f"/proc/{server.pid}/fd/{name}").startswith("socket:")]
        assert len(names) >= 2
        assert all(flags(name) & os.O_CLOEXEC for name in names)


def test_a_port_is_free_again_at_once(servers):
    server = servers.demo()
    port = server.port
    with Client(port) as client:
        client.ask(OK)
        server.stop()
    again = servers.demo(listen=[f"127.0.0.1:{port}"])
    assert ask_once(again.port, OK).body == b"Ok"
    wait_until(lambda: server.process.poll() == 0, what="the end")
