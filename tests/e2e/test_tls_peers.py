"""The command's TLS against OpenSSL's own programs, and against peers who leave or misbehave."""

import hashlib
import json
import os
import select
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

from support.certificates import Authority
from support.client import get
from support.command import rivulet
from support.processes import resident_bytes
from support.waiting import wait_until

TIMEOUT_S = 30
OK = get("/ok")


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("peers"))


@pytest.fixture(scope="module")
def certificate(authority):
    return authority.make()


@pytest.fixture(scope="module")
def demo(module_servers, certificate):
    """Over TLS, and in the clear on the second port."""
    crt, key = certificate
    return module_servers.demo("--tls-listen", "127.0.0.1:0", "--tls-cert", crt, "--tls-key", key,
                               addresses=2)


def ports(server):
    plain, secure = (int(address.rsplit(":", 1)[1]) for address in server.addresses)
    return plain, secure


def connect(port, authority, **options):
    context = ssl.create_default_context(cafile=authority.ca)
    for name, value in options.items():
        setattr(context, name, value)
    plain = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
    return context.wrap_socket(plain, server_hostname="localhost", suppress_ragged_eofs=False)


def read_all(secure):
    answer = b""
    while more := secure.recv(65536):
        answer += more
    return answer


# ---- s_client --------------------------------------------------------------------------------------


def s_client(port, *arguments, stdin=b""):
    """What it prints: what the server has sent, and what it has to say of its own."""
    done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *arguments],
                          input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False)
    return (done.stdout + done.stderr).decode("latin-1")


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_s_client_gets_the_whole_answer_and_then_a_goodbye(demo, authority, version):
    _, port = ports(demo)
    text = s_client(port, version, "-quiet", "-verify_return_error", "-CAfile", str(authority.ca),
                    "-verify_hostname", "localhost", "-msg",
                    stdin=get("/sizer?size=100000", "Connection: close\r\n"))
    assert text.count("X") >= 100000
    assert "warning close_notify" in text


def test_renegotiation_is_refused(demo):
    _, port = ports(demo)
    text = s_client(port, "-tls1_2", "-msg", stdin=b"R\n")
    assert "RENEGOTIATING" in text
    assert "warning no_renegotiation" in text or "no renegotiation" in text
    assert text.count("ServerHelloDone") == 1  # of the first handshake


def test_keys_may_be_renewed(demo):
    """In TLS 1.3, in both directions (K) and in one (k), between two requests."""
    _, port = ports(demo)
    client = subprocess.Popen(["openssl", "s_client", "-tls1_3", "-connect", f"127.0.0.1:{port}"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    out = b""
    try:
        # s_client takes what it reads at once as one command: so each waits for what the last one does.
        for words, awaited, times in ((b"", b"Verify return code", 1), (OK, b"200 OK", 1),
                                      (b"K\n", b"KEYUPDATE", 1), (OK, b"200 OK", 2),
                                      (b"k\n", b"KEYUPDATE", 2),
                                      (get("/ok", "Connection: close\r\n"), b"200 OK", 3)):
            client.stdin.write(words)
            client.stdin.flush()
            while out.count(awaited) < times:
                assert select.select([client.stdout], [], [], TIMEOUT_S)[0], out
                octets = os.read(client.stdout.fileno(), 65536)
                assert octets, out
                out += octets
        client.communicate(timeout=TIMEOUT_S)
    finally:
        client.kill()


@pytest.mark.parametrize("protocols", ["unknown", "http/1.0,spdy/3"])
def test_protocols_that_nobody_speaks_are_refused(demo, protocols):
    _, port = ports(demo)
    assert "alert number 120" in s_client(port, "-alpn", protocols)


# ---- s_server --------------------------------------------------------------------------------------


@pytest.fixture
def s_server(tmp_path, certificate):
    """run(files, ...): the port of an `openssl s_server` that sends files, heads and all."""
    running = []

    def run(files, *arguments):
        for name, octets in files.items():
            (tmp_path / name).write_bytes(octets)
        crt, key = certificate
        process = subprocess.Popen(["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", crt,
                                    "-key", key, "-HTTP", "-http_server_binmode", *arguments],
                                   cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        running.append(process)
        while not (line := process.stdout.readline()).startswith("ACCEPT"):
            assert line, "s_server did not start"
        return int(line.rsplit(":", 1)[1])

    yield run
    for process in running:
        process.kill()
        process.communicate()


BODY = bytes(range(256)) * 200
ANSWERS = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(BODY) + BODY,
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
               b"%x\r\n" % len(BODY) + BODY + b"\r\n0\r\n\r\n",
    "end": b"HTTP/1.1 200 OK\r\n\r\n" + BODY,
}


@pytest.mark.parametrize("arguments", [("-tls1_2",), ("-tls1_3",), ("-max_send_frag", "512"),
                                       ("-no_ticket",)])
def test_bench_reads_what_s_server_sends(s_server, authority, arguments):
    port = s_server(ANSWERS, *arguments)
    for name in ANSWERS:
        out = rivulet("bench", "-q", "-c", 1, "-n", 4, "--cacert", authority.ca, "--format", "json",
                      f"https://127.0.0.1:{port}/{name}").out
        run = json.loads(out)
        assert run["requests"]["answered"] == 4, (name, run["failures"])
        assert run["octets"]["content_octets"] == 4 * len(BODY)


# ---- peers who leave ---------------------------------------------------------------------------------


def test_a_client_that_never_says_goodbye_is_nothing_to_complain_about(servers, authority,
                                                                       certificate):
    crt, key = certificate
    server = servers.demo("--tls-listen", "127.0.0.1:0", "--tls-cert", crt, "--tls-key", key,
                          listen=())
    secure = connect(server.port, authority)
    secure.sendall(OK)
    assert b"Ok" in secure.recv(65536)
    secure.close()  # idle
    secure = connect(server.port, authority)
    secure.sendall(get("/sizer?size=50000000"))
    secure.recv(1000)
    secure.close()  # in a body that the server sends
    secure = connect(server.port, authority)
    secure.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")
    secure.close()  # in one of its own
    secure = connect(server.port, authority)
    secure.sendall(b"GET /o")
    secure.close()  # in a head
    with socket.create_connection(("127.0.0.1", server.port), TIMEOUT_S) as plain:
        plain.sendall(b"\x16\x03\x01\x02")  # in a handshake
    with connect(server.port, authority) as secure:
        secure.sendall(get("/ok", "Connection: close\r\n"))
        assert read_all(secure).endswith(b"Ok")
    server.stop()
    assert server.stderr.text == ""


def test_tls_on_the_plain_port_is_refused_at_once(demo):
    plain, _ = ports(demo)
    outgoing = ssl.MemoryBIO()
    half = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="x")
    with pytest.raises(ssl.SSLWantReadError):
        half.do_handshake()
    with socket.create_connection(("127.0.0.1", plain), TIMEOUT_S) as client:
        begin = time.monotonic()
        client.sendall(outgoing.read())
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while more := client.recv(65536):
            answer += more
        assert time.monotonic() - begin < 5
    assert answer.startswith(b"HTTP/1.1 400 ") and b"Connection: close" in answer


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_that_goes_on_sending_still_reads_its_refusal(demo, authority, version):
    """RFC 9112 section 9.6: a reset would destroy the answer on its way."""
    _, port = ports(demo)
    block = bytes(1_000_000)
    for _ in range(5):
        with connect(port, authority, maximum_version=version) as secure:
            secure.sendall(b"POST /pool/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n")
            for _ in range(20):
                secure.sendall(block)
            assert read_all(secure).startswith(b"HTTP/1.1 413 ")


# ---- certificates that change ------------------------------------------------------------------------


def common_name(port, authority):
    with connect(port, authority, check_hostname=False) as secure:
        return dict(part[0] for part in secure.getpeercert()["subject"])["commonName"]


def test_a_download_outlives_new_certificates(servers, authority, tmp_path):
    crt, key = tmp_path / "site.crt", tmp_path / "site.key"

    def put(name):
        for source, target in zip(authority.make(name=name), (crt, key)):
            shutil.copy(source, target)

    def hang_up(sentence):
        server.process.send_signal(signal.SIGHUP)
        assert server.stderr.wait_for(
            lambda lines: any(sentence in line for line in lines), TIMEOUT_S)

    put("localhost")
    server = servers.demo("--tls-listen", "127.0.0.1:0", "--tls-cert", str(crt), "--tls-key",
                          str(key), "--workers", "1", listen=())
    with connect(server.port, authority) as secure:
        secure.sendall(get("/sizer?size=30000000", "Connection: close\r\n"))
        head, body = secure.recv(65536).split(b"\r\n\r\n", 1)
        put("renewed.example")
        hang_up("read again")
        wait_until(lambda: common_name(server.port, authority) == "renewed.example")
        body += secure.recv(65536)
        crt.write_text("-----BEGIN CERTIFICATE-----\nnothing\n", encoding="ascii")
        hang_up("stay as they were")
        assert common_name(server.port, authority) == "renewed.example"
        assert b"Content-Length: 30000000\r\n" in head + b"\r\n"
        count = len(body)
        while more := secure.recv(1 << 20):
            assert more.count(b"X") == len(more)
            count += len(more)
        assert count == 30000000


# ---- much, slowly --------------------------------------------------------------------------------------

ECHOED = 64 * 1024 * 1024
CHUNK = 64 * 1024
GROWTH_MAX = 12_000_000


def send_chunks(pipe, pattern):
    pipe.write(b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
               b"Connection: close\r\n\r\n")
    for _ in range(ECHOED // CHUNK):
        pipe.write(b"%x\r\n" % CHUNK + pattern + b"\r\n")
    pipe.write(b"0\r\n\r\n")
    pipe.flush()


def chunks_of(pipe):
    """The content of a chunked answer behind its head, chunk by chunk."""
    while pipe.readline() != b"\r\n":
        pass
    while size := int(pipe.readline(), 16):
        yield pipe.read(size)
        assert pipe.read(2) == b"\r\n"


@pytest.mark.release
def test_a_slow_reader_of_much_is_served_in_little_memory(servers, certificate):
    """OpenSSL sends and takes chunks, both through pipes; the answer is taken slowly at first."""
    crt, key = certificate
    server = servers.demo("--tls-listen", "127.0.0.1:0", "--tls-cert", crt, "--tls-key", key,
                          "--workers", "1", listen=(), preset="release")
    pattern = os.urandom(CHUNK)
    client = subprocess.Popen(["openssl", "s_client", "-quiet", "-connect",
                               f"127.0.0.1:{server.port}"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    sender = threading.Thread(target=send_chunks, args=(client.stdin, pattern), daemon=True)
    before, highest, count, seen = resident_bytes(server.pid), 0, 0, hashlib.sha256()
    try:
        sender.start()
        for number, chunk in enumerate(chunks_of(client.stdout)):
            if number < 100:
                time.sleep(0.01)
            if number % 64 == 63:
                highest = max(highest, resident_bytes(server.pid))
            count += len(chunk)
            seen.update(chunk)
    finally:
        client.kill()
        client.communicate()
    assert count == ECHOED
    assert seen.digest() == hashlib.sha256(pattern * (ECHOED // CHUNK)).digest()
    assert highest - before < GROWTH_MAX, f"{highest - before} octets more"
