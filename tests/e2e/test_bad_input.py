"""What clients get wrong is named in the log, with whose it was; a flood of it does not flood the log."""

import socket
import time

import pytest

from support.client import ask_once, get

OK = get("/ok")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def send(port, octets):
    """Sends on a new connection, reads to the end, and returns what the client is called and was told."""
    with socket.create_connection(("127.0.0.1", port), 10) as client:
        name = "127.0.0.1:%d" % client.getsockname()[1]
        client.sendall(octets)
        client.shutdown(socket.SHUT_WR)
        received = b""
        while octets := client.recv(65536):
            received += octets
        return name, received


WRONG = [
    (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 ",
     "bad input (400) while reading a request head, client {}: "),
    (get("/%zz"), b"HTTP/1.1 400 ",
     "bad input (400) while routing a request, client {}: The path has a % that no two hexadecimal "
     "digits follow."),
    (get("/../etc/passwd"), b"HTTP/1.1 400 ",
     "bad input (400) while routing a request, client {}: The path leads above the root."),
    (b"USER guest host name\r\n", b"",
     "bad input while reading a request head, client {}: What has come is not HTTP"),
    (PREFACE + b"\0\0\1\4\0\0\0\0\0x", b"\0",
     "bad input while reading frames, client {}: The rules of HTTP/2 are broken"),
    (PREFACE + b"\0\0\0\4\0\0\0\0\0" * 100, b"\0",
     "bad input while reading frames, client {}: A flood of HTTP/2 frames (settings)"),
    (PREFACE + b"\0\0\0\4\0\0\0\0\0" + b"\0\0\1\1\5\0\0\0\1\x82", b"\0",
     "bad input while reading frames, client {}: A message of HTTP/2 is malformed"),
]


@pytest.mark.parametrize("octets, answer, line", WRONG, ids=[w[2].split(": ")[-1] or "head" for w in WRONG])
def test_it_is_named_with_its_client(servers, octets, answer, line):
    server = servers.demo()
    name, received = send(server.port, octets)
    assert received.startswith(answer) and (answer or not received)
    assert server.stderr.wait_for(
        lambda lines: any(("rivulet: " + line.format(name)) in one for one in lines), 10), \
        server.stderr.text
    ask_once(server.port, OK)


@pytest.mark.parametrize("octets, line", [
    (OK, "bad input (400) during a TLS handshake, client {}: This port speaks TLS"),
    (b"\x16\x03\x01\0\5hello", "bad input during a TLS handshake, client {}: It has failed"),
], ids=["plain", "garbage"])
def test_a_handshake_that_is_none_is_named(servers, octets, line):
    server = servers.demo("--tls-listen", "127.0.0.1:0", "--tls-self-signed", listen=())
    name, _ = send(server.port, octets)
    assert server.stderr.wait_for(
        lambda lines: any(("rivulet: " + line.format(name)) in one for one in lines), 10), \
        server.stderr.text


def test_what_a_client_has_sent_is_not_in_the_log(servers):
    server = servers.demo()
    send(server.port, b"GET /%zz-forged\x1b[2J HTTP/1.1\r\nHost: forged\r\nNo colon forged\r\n\r\n")
    assert server.stderr.wait_for(lambda lines: lines, 10)
    assert "forged" not in server.stderr.text and "\x1b" not in server.stderr.text


def test_a_flood_of_it_is_counted_and_not_written_out(servers):
    server = servers.demo()
    for _ in range(300):
        send(server.port, b"GET / HTTP/1.1\r\n\r\n")
    time.sleep(1.1)
    send(server.port, b"GET / HTTP/1.1\r\n\r\n")
    assert server.stderr.wait_for(lambda lines: any("more times" in one for one in lines), 10)
    told = sum("bad input (400)" in one for one in server.stderr.all)
    left_out = sum(int(one.split()[3]) for one in server.stderr.all if "more times" in one)
    assert told + left_out == 301
    assert told < 100
