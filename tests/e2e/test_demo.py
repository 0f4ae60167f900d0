"""The command as a user meets it: the demo app's pages, --help, --version, and what goes wrong."""

import hashlib
import os
import re
import socket
import subprocess
import time

import pytest

from support.client import Client, ask_once, get, post
from support.server import program, sanitizer_environment

HELLO = b"Hello, world\r\n"
MIB = 1 << 20


def run(*arguments, timeout_s=30, **options):
    """Runs the command to its end."""
    return subprocess.run([program("rivulet"), *arguments], capture_output=True, text=True,
                          timeout=timeout_s, env=sanitizer_environment(), check=False, **options)


def curl(*arguments, timeout_s=120):
    return subprocess.run(["curl", "--silent", "--show-error", "--noproxy", "*", *arguments],
                          capture_output=True, timeout=timeout_s, check=True).stdout


# ---- pages ---------------------------------------------------------------------------------------

def test_ok(demo):
    answer = ask_once(demo.port, get("/ok"))
    assert (answer.status, answer.body) == (200, b"Ok")
    assert answer.fields.get("Content-Type") == "text/plain; charset=UTF-8"


def test_hello(demo):
    answer = ask_once(demo.port, get("/hello"))
    assert (answer.status, answer.body) == (200, HELLO)
    assert answer.fields.get("Content-Type").startswith("text/html")


def test_the_static_page_is_a_file(demo):
    answer = ask_once(demo.port, get("/static/index.html"))
    assert (answer.status, answer.body) == (200, HELLO)
    assert answer.fields.get("Content-Type").startswith("text/html")
    assert answer.fields.get("ETag") and answer.fields.get("Last-Modified")
    again = get("/static/index.html", f"If-None-Match: {answer.fields.get('ETag')}\r\n")
    assert ask_once(demo.port, again).status == 304


@pytest.mark.parametrize("path", ["/", "/index.html"])
def test_the_first_page_links_the_others(demo, path):
    answer = ask_once(demo.port, get(path))
    assert answer.status == 200
    assert answer.fields.get("Content-Type").startswith("text/html")
    links = re.findall(r'(?:href|action)="?([^" >]+)', answer.body.decode())
    for target in ("ok", "hello", "static/index.html", "sizer"):
        assert any(link.lstrip("/").startswith(target) for link in links), target


@pytest.mark.parametrize("path", ["/", "/index.html"])
def test_the_first_page_has_validators_and_ranges(demo, path):
    with Client(demo.port) as client:
        whole = client.ask(get(path))
        for fields in (f"If-None-Match: {whole.fields.get('ETag')}\r\n",
                       f"If-Modified-Since: {whole.fields.get('Last-Modified')}\r\n"):
            fresh = client.ask(get(path, fields))
            assert (fresh.status, fresh.body) == (304, b"")
        assert client.ask(get(path, 'If-Match: "another"\r\n')).status == 412
        assert client.ask(get(path, "Range: bytes=0-4\r\n")).body == whole.body[:5]
        assert client.ask(get(path, f"Range: bytes={len(whole.body)}-\r\n")).status == 416


def test_every_link_of_the_first_page_leads_somewhere(demo):
    page = ask_once(demo.port, get("/")).body.decode()
    links = re.findall(r'href="(/?[^":#]*)"', page)
    assert links
    for link in links:
        path = "/" + link.lstrip("/").replace("&amp;", "&")
        assert ask_once(demo.port, get(path), timeout_s=30).status == 200, link


@pytest.mark.parametrize("size", [0, 1, 10, 100, 1000, 65535, 65536, 65537, 10 * MIB])
def test_sizer_sends_as_many_as_asked_for(demo, size):
    answer = ask_once(demo.port, get(f"/sizer?size={size}"), timeout_s=30)
    assert answer.status == 200
    assert answer.fields.get("Content-Length") == str(size)
    assert answer.body == b"X" * size


@pytest.mark.parametrize("query", ["", "?", "?size", "?size=", "?size=abc", "?size=-5", "?size=5x",
                                   "?size=1e3", "?size=%201", "?size=10737418241",
                                   "?size=99999999999999999999", "?length=5"])
def test_sizer_says_what_is_wrong_with_its_size(demo, query):
    answer = ask_once(demo.port, get("/sizer" + query))
    assert answer.status == 400
    assert "size" in answer.body.decode()


def test_sizer_knows_ten_gigabytes_without_sending_them(demo):
    with Client(demo.port) as client:
        answer = client.ask(get("/sizer?size=10000000000", method="HEAD"), to_head=True)
        assert answer.fields.get("Content-Length") == "10000000000"
        assert client.ask(get("/ok")).body == b"Ok"


@pytest.mark.parametrize("path", ["/ok", "/hello", "/sizer?size=1000", "/static/index.html"])
def test_head_is_get_without_a_body(demo, path):
    with Client(demo.port) as client:
        whole = client.ask(get(path))
        head = client.ask(get(path, method="HEAD"), to_head=True)
        without_date = [pair for pair in head.fields.pairs if pair[0] != "Date"]
        assert without_date == [pair for pair in whole.fields.pairs if pair[0] != "Date"]
        assert client.ask(get("/ok")).body == b"Ok"


@pytest.mark.parametrize("path,body", [("/pool/ok", b"Ok"), ("/pool/hello", HELLO),
                                       ("/pool/sizer?size=100000", b"X" * 100000)])
def test_the_same_pages_on_the_pool(demo, path, body):
    assert ask_once(demo.port, get(path)).body == body


def test_sizer_on_the_pool_says_what_is_wrong_too(demo):
    assert ask_once(demo.port, get("/pool/sizer?size=abc")).status == 400


def test_sleep_answers_later(demo):
    started = time.monotonic()
    assert ask_once(demo.port, get("/sleep?ms=300")).status == 200
    assert time.monotonic() - started >= 0.29


def test_sleepers_do_not_hold_the_loop_up(demo):
    sleepers = [Client(demo.port) for _ in range(50)]
    started = time.monotonic()
    for client in sleepers:
        client.send(get("/sleep?ms=500"))
    assert ask_once(demo.port, get("/ok")).body == b"Ok"
    assert [client.answer().status for client in sleepers] == [200] * 50
    assert time.monotonic() - started < 5
    for client in sleepers:
        client.close()


@pytest.mark.parametrize("query", ["", "?ms=", "?ms=abc", "?ms=-1"])
def test_sleep_says_what_is_wrong_with_its_time(demo, query):
    answer = ask_once(demo.port, get("/sleep" + query))
    assert answer.status == 400 and "ms" in answer.body.decode()


def test_what_is_not_there_is_404(demo):
    assert ask_once(demo.port, get("/no-such")).status == 404


def test_what_is_not_allowed_is_405(demo):
    answer = ask_once(demo.port, get("/ok", method="DELETE"))
    assert answer.status == 405 and "GET" in answer.fields.get("Allow")


# ---- echo ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "FOO"])
def test_echo_takes_any_method(demo, method):
    request = post("/echo", b"hello").replace(b"POST", method.encode())
    answer = ask_once(demo.port, request)
    assert (answer.status, answer.body) == (200, b"hello")
    assert answer.fields.get("Content-Length") == "5"


def test_echo_of_no_body_is_empty(demo):
    with Client(demo.port) as client:
        assert client.ask(get("/echo")).body == b""
        assert client.ask(post("/echo")).body == b""


@pytest.mark.parametrize("framing", ["length", "chunked"])
@pytest.mark.parametrize("size", [1, 2, 1000, 4096, 65536, 65537, MIB, 5 * MIB + 1, 64 * MIB])
def test_curl_gets_its_body_back(demo, tmp_path, size, framing):
    sent, received = tmp_path / "sent", tmp_path / "received"
    body = os.urandom(min(size, MIB)) * (size // MIB + 1)
    sent.write_bytes(body[:size])
    how = ["--header", "Transfer-Encoding: chunked"] if framing == "chunked" else []
    fields = curl("--data-binary", f"@{sent}", "--output", str(received), "--dump-header", "-",
                  *how, demo.url("/echo")).decode().lower()
    assert digest(received) == digest(sent)
    final = fields.split("\r\n\r\n")[-2]
    if framing == "length":
        assert f"content-length: {size}\r\n" in final + "\r\n"
    else:
        assert "transfer-encoding: chunked" in final


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_echo_answers_while_the_body_is_still_coming(demo):
    with Client(demo.port) as client:
        client.send(post("/echo", b"x" * 100)[:-90])
        client.receive(5)
        assert client.pending.endswith(b"\r\n\r\n" + b"x" * 10)
        client.send(b"y" * 90)
        assert client.answer().body == b"x" * 10 + b"y" * 90


# ---- the command ---------------------------------------------------------------------------------

def test_version():
    result = run("--version")
    assert result.returncode == 0
    assert re.fullmatch(r"rivulet \d+\.\d+\.\d+\n", result.stdout)


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"]])
def test_help_is_no_error(arguments):
    result = run(*arguments)
    assert result.returncode == 0
    assert "serve" in result.stdout and not result.stderr


def test_help_of_serve_names_every_option():
    text = run("serve", "--help").stdout
    for option in ("--demo", "--listen", "--workers", "--backlog", "--pool"):
        assert option in text


@pytest.mark.parametrize("arguments", [
    [], ["frobnicate"], ["--frobnicate"], ["serve", "--frobnicate"],
    ["serve", "--demo", "--listen"],
    ["serve", "--demo", "--workers", "many"], ["serve", "--demo", "--workers", "-1"],
    ["serve", "--demo", "--backlog", "x"], ["serve", "--demo", "--pool", "1.5"],
    ["serve", "--demo", "--workers", "99999999999999999999"], ["serve", "--demo", "."],
    ["serve", "--demo", "--hidden"], ["serve", "a", "b"]],
    ids=lambda arguments: " ".join(arguments) or "nothing")
def test_bad_arguments_are_told_in_a_sentence(arguments):
    result = run(*arguments)
    assert result.returncode == 1
    assert result.stderr.strip()
    bad = next((word for word in arguments if word in ("frobnicate", "--frobnicate")), "")
    assert bad in result.stderr


def fails_to_start(address, *reasons, **options):
    """The command must end with 2 and name the address and the reason."""
    result = run("serve", "--demo", "--listen", address, **options)
    assert result.returncode == 2, result.stderr
    assert address in result.stderr
    assert any(reason in result.stderr.lower() for reason in reasons), result.stderr


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        fails_to_start(f"127.0.0.1:{taken.getsockname()[1]}", "already in use")


def test_a_port_that_another_rivulet_has_is_named(demo):
    fails_to_start(f"127.0.0.1:{demo.port}", "already in use")


def test_an_address_of_another_machine_is_named():
    fails_to_start("192.0.2.1:8080", "address")


def test_a_port_without_permission_is_named():
    def become_nobody():
        os.setgid(65534)
        os.setuid(65534)
    with open("/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding="ascii") as file:
        if int(file.read()) <= 1:
            pytest.skip("every port is free for everyone here")
    if os.geteuid() != 0:
        fails_to_start("127.0.0.1:1", "permission denied")
        return
    try:
        fails_to_start("127.0.0.1:1", "permission denied", preexec_fn=become_nobody)
    except PermissionError:
        pytest.skip("nobody may not run the build")


@pytest.mark.parametrize("address", ["127.0.0.1:abc", "127.0.0.1:99999", "256.1.1.1:80", "[::1:80",
                                     "127.0.0.1:", "unix:", "fd:x", "fd:999"])
def test_a_bad_address_is_named(address):
    result = run("serve", "--demo", "--listen", address)
    assert result.returncode in (1, 2)
    assert address in result.stderr


def test_a_folder_that_is_not_there_is_named():
    address = "unix:/no/such/folder/socket"
    fails_to_start(address, "no such file", "not found", "folder", "directory")


def test_one_bad_address_among_good_ones_stops_the_start():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = run("serve", "--demo", "--listen", "127.0.0.1:0", "--listen", address)
        assert result.returncode == 2 and address in result.stderr


def test_too_few_descriptors_are_told():
    result = subprocess.run(
        ["bash", "-c", "ulimit -n 6; exec \"$@\"", "bash", program("rivulet"), "serve", "--demo",
         "--workers", "8", "--listen", "127.0.0.1:0"],
        capture_output=True, text=True, timeout=30, env=sanitizer_environment(), check=False)
    assert result.returncode == 2
    assert "descriptor" in result.stderr or "open files" in result.stderr


def test_the_start_tells_how_it_runs(servers):
    server = servers.demo("--workers", "2", "--pool", "3", "--backlog", "77")
    server.stdout.wait_for(lambda lines: any("backlog" in line for line in lines), 10)
    text = server.stdout.text
    assert "2 workers, 3 pool threads, backlog 77" in text
