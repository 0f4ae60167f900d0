"""The command over TLS, as curl, openssl and Python's ssl see it."""

import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest

from support.client import get
from support.server import program, sanitizer_environment
from support.waiting import wait_until

OK = get("/ok")
TIMEOUT_S = 20


def run(*command, stdin=b""):
    return subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT_S, check=False)


def curl(*arguments):
    result = run("curl", "--silent", "--show-error", "--max-time", "15", *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout


def s_client(port, *arguments, stdin=b""):
    """What `openssl s_client` prints, on both of its outputs, until the server closes."""
    result = run("openssl", "s_client", "-connect", f"127.0.0.1:{port}", *arguments, stdin=stdin)
    return (result.stdout + result.stderr).decode("latin-1")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """make(name): the paths of a self-signed certificate for it and of its key."""
    folder = tmp_path_factory.mktemp("tls")

    def make(name):
        paths = folder / f"{name}.crt", folder / f"{name}.key"
        result = run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                     "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                     "-addext", f"subjectAltName=DNS:{name}", "-out", str(paths[0]),
                     "-keyout", str(paths[1]))
        assert result.returncode == 0, result.stderr
        return [str(path) for path in paths]

    return make


def start(servers, *arguments, listen=(), **options):
    options.setdefault("addresses", len(listen) + 1)
    return servers.demo("--tls-listen", "127.0.0.1:0", *arguments, listen=listen, **options)


@pytest.fixture(scope="module")
def tls(module_servers):
    """The demo app over TLS with two workers, shared by the tests of this file."""
    return start(module_servers, "--tls-self-signed", "--workers", "2")


def secure_url(server, path):
    return f"https://127.0.0.1:{server.port}{path}"


def context(**options):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    for name, value in options.items():
        setattr(made, name, value)
    return made


def connect(port, made=None, session=None):
    plain = socket.create_connection(("127.0.0.1", port), TIMEOUT_S)
    return (made or context()).wrap_socket(plain, suppress_ragged_eofs=False, session=session)


def answer_of(secure, octets=OK):
    secure.sendall(octets)
    answer = b""
    while not answer.endswith(b"\r\n\r\nOk"):
        more = secure.recv(65536)
        assert more, answer
        answer += more
    return answer


# ---- the command -----------------------------------------------------------------------------------


def test_the_start_line_says_https(tls):
    assert tls.addresses == [f"https://127.0.0.1:{tls.port}"]


def test_both_kinds_of_address_at_once(servers):
    server = start(servers, "--tls-self-signed", listen=["127.0.0.1:0"])
    plain, secure = server.addresses
    assert plain.startswith("http://") and secure.startswith("https://")
    assert curl(f"{plain}/ok") == b"Ok"
    assert curl("--insecure", f"{secure}/ok") == b"Ok"


def test_a_certificate_from_files(servers, certificate):
    crt, key = certificate("one.example")
    server = start(servers, "--tls-cert", crt, "--tls-key", key)
    assert curl("--cacert", crt, "--resolve", f"one.example:{server.port}:127.0.0.1",
                f"https://one.example:{server.port}/ok") == b"Ok"


def test_the_name_decides_between_certificates(servers, certificate):
    one, two = certificate("one.example"), certificate("*.two.example")
    server = start(servers, "--tls-cert", one[0], "--tls-key", one[1], "--tls-cert", two[0],
                   "--tls-key", two[1])
    assert "CN = one.example" in s_client(server.port)
    assert "CN = one.example" in s_client(server.port, "-servername", "three.example")
    assert "CN = *.two.example" in s_client(server.port, "-servername", "a.two.example")


@pytest.mark.parametrize("arguments, sentence", [
    (["--tls-listen", "127.0.0.1:0"], "--tls-listen needs --tls-cert"),
    (["--tls-self-signed"], "without --tls-listen"),
    (["--tls-listen", "127.0.0.1:0", "--tls-cert", "a"], "each --tls-cert needs its --tls-key"),
    (["--tls-listen", "127.0.0.1:0", "--tls-cert", "/absent", "--tls-key", "/absent"],
     "cannot read /absent: No such file or directory"),
    (["--tls-listen", "127.0.0.1:0", "--tls-self-signed", "--redirect-to-tls"],
     "--redirect-to-tls needs --listen"),
    (["--listen", "127.0.0.1:0", "--redirect-to-tls"], "and --tls-listen"),
    (["--listen", "127.0.0.1:0", "--hsts", "60"], "--hsts needs --tls-listen"),
    (["--hsts", "soon"], "--hsts must be a number of seconds"),
    (["--tls-listen", "127.0.0.1:0", "--tls-self-signed", "--hsts", "max-age=x"],
     "hsts must have a max-age in seconds"),
    (["--tls-listen", "inherited", "--listen", "inherited", "--tls-self-signed"], "fd:3"),
])
def test_what_does_not_fit_together_is_refused(arguments, sentence):
    result = subprocess.run([program("rivulet"), "serve", "--demo", *arguments],
                            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                            env=sanitizer_environment())
    assert result.returncode != 0
    assert sentence in result.stderr


def test_a_key_of_another_certificate_is_refused(certificate):
    crt, _ = certificate("one.example")
    _, key = certificate("other.example")
    result = subprocess.run([program("rivulet"), "serve", "--demo", "--tls-listen", "127.0.0.1:0",
                             "--tls-cert", crt, "--tls-key", key],
                            capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                            env=sanitizer_environment())
    assert result.returncode != 0
    assert f"the key in {key} does not match the certificate in {crt}" in result.stderr


# ---- clients that should come over TLS ---------------------------------------------------------------


def fields_of(*arguments):
    """The status and the fields, by lower-case name, of an answer."""
    lines = curl("--insecure", "--include", "--http1.1", *arguments).decode().split("\r\n\r\n")[0].split("\r\n")
    return int(lines[0].split()[1]), {name.lower(): value for name, value in
                                      (line.split(": ", 1) for line in lines[1:])}


def test_requests_in_the_clear_are_sent_on_to_tls(servers):
    server = start(servers, "--tls-self-signed", "--redirect-to-tls", "--hsts", "60",
                   listen=["127.0.0.1:0"])
    plain, secure = server.addresses
    status, fields = fields_of(f"{plain}/ok?a=%20b")
    assert status == 308
    assert fields["location"] == f"{secure}/ok?a=%20b"
    assert "strict-transport-security" not in fields
    assert curl("--insecure", "--location", "--data-binary", "sent twice",
                f"{plain}/echo") == b"sent twice"
    status, fields = fields_of(f"{secure}/ok")
    assert status == 200
    assert fields["strict-transport-security"] == "max-age=60"


def test_http_2_is_sent_on_too_and_has_the_policy(servers):
    server = start(servers, "--tls-self-signed", "--redirect-to-tls", "--hsts", "60",
                   listen=["127.0.0.1:0"])
    plain, secure = server.addresses
    status, fields = fields_of("--http2-prior-knowledge", f"{plain}/ok?a=b")
    assert (status, fields["location"]) == (308, f"{secure}/ok?a=b")
    assert "strict-transport-security" not in fields
    status, fields = fields_of("--http2", f"{secure}/ok")
    assert (status, fields["strict-transport-security"]) == (200, "max-age=60")


def test_every_answer_over_tls_has_the_policy(servers):
    value = "max-age=31536000; includeSubDomains"
    server = start(servers, "--tls-self-signed", "--hsts", value)
    for path in ("/ok", "/absent", "/pool/ok", "/static/index.html", "/%00", "/sleep?ms=1"):
        _, fields = fields_of(secure_url(server, path))
        assert fields["strict-transport-security"] == value, path
    with connect(server.port) as secure:
        secure.sendall(b"no request\r\n\r\n")
        answer = secure.recv(4096)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nStrict-Transport-Security: " + value.encode() + b"\r\n" in answer
    plain = run("curl", "--silent", "--include", f"http://127.0.0.1:{server.port}/ok").stdout
    assert plain.startswith(b"HTTP/1.1 400 ") and b"Strict-Transport" not in plain


@pytest.mark.parametrize("address, environment", [("inherited", "LISTEN_FDS=1 LISTEN_PID=$$"),
                                                  ("fd:3", "")])
def test_sockets_that_are_passed_on_speak_tls(servers, address, environment):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = servers.with_descriptor(listener, environment, "--tls-listen", address,
                                         "--tls-self-signed")
    assert curl("--insecure", secure_url(server, "/ok")) == b"Ok"


# ---- clients ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_curl(tls, version):
    exact = [f"--tlsv{version}", "--tls-max", version, "--insecure"]
    assert curl(*exact, secure_url(tls, "/ok")) == b"Ok"
    assert curl(*exact, secure_url(tls, "/pool/ok")) == b"Ok"
    assert curl(*exact, secure_url(tls, "/static/index.html")) == b"Hello, world\r\n"


def test_curl_reuses_its_connection(tls):
    count = curl("--insecure", "--write-out", "%{num_connects}", secure_url(tls, "/ok"),
                 secure_url(tls, "/ok"))
    assert count == b"Ok1Ok0"


def test_long_bodies_both_ways(tls, tmp_path):
    body = bytes(i * 7 % 251 for i in range(3_000_000))
    path = tmp_path / "body"
    path.write_bytes(body)
    assert curl("--insecure", "--data-binary", f"@{path}", secure_url(tls, "/echo")) == body
    chunked = ["--header", "Transfer-Encoding: chunked"]
    assert curl("--insecure", *chunked, "--data-binary", f"@{path}", secure_url(tls, "/echo")) == body
    assert curl("--insecure", secure_url(tls, "/sizer?size=20000000")) == b"X" * 20_000_000


def test_a_slow_reader(tls):
    with connect(tls.port) as secure:
        secure.sendall(get("/sizer?size=8000000"))
        count = 0
        while count < 8_000_000:
            if count < 100_000:
                time.sleep(0.05)
            more = secure.recv(20_000)
            assert more
            count += len(more)


def test_plain_http_gets_a_400_that_says_so(tls):
    result = run("curl", "--silent", "--include", "--max-time", "15",
                 f"http://127.0.0.1:{tls.port}/ok").stdout
    assert result.startswith(b"HTTP/1.1 400 ")
    assert b"https://" in result


@pytest.mark.parametrize("arguments, alert", [
    (["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"], "alert protocol version"),
    (["-tls1_2", "-cipher", "kRSA"], "alert handshake failure"),
    (["-alpn", "spdy/3"], "alert no application protocol"),
])
def test_what_is_not_spoken_is_refused_with_an_alert(tls, arguments, alert):
    assert alert in s_client(tls.port, *arguments)


def test_protocol_and_ciphers(tls):
    text = s_client(tls.port, "-alpn", "http/1.1,h2", "-tls1_3")
    assert "ALPN protocol: h2" in text
    text = s_client(tls.port, "-alpn", "spdy/3,http/1.1", "-tls1_3")
    assert "ALPN protocol: http/1.1" in text
    assert re.search(r"New, TLSv1.3, Cipher is TLS_", text)
    text = s_client(tls.port, "-tls1_2")
    assert re.search(r"New, TLSv1.2, Cipher is ECDHE-ECDSA-", text)
    assert "Compression: NONE" in text


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_ticket_is_good_at_every_worker(tls, version):
    made = context(maximum_version=version)
    with connect(tls.port, made) as secure:
        answer_of(secure)
        assert not secure.session_reused
        session = secure.session
    for _ in range(8):
        with connect(tls.port, made, session) as secure:
            answer_of(secure)
            assert secure.session_reused
            session = secure.session


def test_each_resumption_of_tls_1_3_brings_another_ticket(tls):
    """A client uses a ticket once."""
    made = context(minimum_version=ssl.TLSVersion.TLSv1_3)
    seen, session = set(), None
    for number in range(4):
        with connect(tls.port, made, session) as secure:
            answer_of(secure)
            assert secure.session_reused == (number > 0)
            session = secure.session
            seen.add(session.id)
    assert len(seen) == 4


def test_goodbye_comes_before_the_end(tls):
    with connect(tls.port) as secure:
        answer_of(secure, get("/ok", "Connection: close\r\n"))
        assert secure.recv(1) == b""  # an SSLEOFError, had it only been cut


def test_a_client_that_half_closes_politely_gets_its_answer(tls):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    half = context().wrap_bio(incoming, outgoing)
    with socket.create_connection(("127.0.0.1", tls.port), TIMEOUT_S) as plain:

        def send():
            if outgoing.pending:
                plain.sendall(outgoing.read())

        def carry(step):
            while True:
                try:
                    result = step()
                    send()
                    return result
                except ssl.SSLWantReadError:
                    send()
                    octets = plain.recv(65536)
                    assert octets, "the connection ended"
                    incoming.write(octets)

        carry(half.do_handshake)
        carry(lambda: half.write(get("/sleep?ms=300")))
        with pytest.raises(ssl.SSLWantReadError):
            half.unwrap()
        send()  # close_notify, before the answer is there
        plain.shutdown(socket.SHUT_WR)
        answer = b""
        while not answer.endswith(b"slept\n"):
            answer += carry(lambda: half.read(65536))


def test_a_client_that_vanishes_leaves_the_server_well(tls):
    for octets in (b"", b"\x16", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc"):
        with socket.create_connection(("127.0.0.1", tls.port), TIMEOUT_S) as plain:
            plain.sendall(octets)
    secure = connect(tls.port)
    secure.sendall(get("/sizer?size=50000000"))
    secure.close()
    with connect(tls.port) as fresh:
        answer_of(fresh)


# ---- many at once ----------------------------------------------------------------------------------


def hello_of_a_client():
    outgoing = ssl.MemoryBIO()
    half = context().wrap_bio(ssl.MemoryBIO(), outgoing)
    with pytest.raises(ssl.SSLWantReadError):
        half.do_handshake()
    return outgoing.read()


def served_before_a_request(server, established, hello, count):
    """How many of so many handshakes were answered before a request that came behind them."""
    storm = [socket.create_connection(("127.0.0.1", server.port), TIMEOUT_S) for _ in range(count)]
    try:
        for plain in storm:
            plain.sendall(hello)
        answer_of(established)
        served = len(select.select(storm, [], [], 0)[0])
        wait_until(lambda: len(select.select(storm, [], [], 0)[0]) == count, TIMEOUT_S,
                   "the storm's handshakes")
        return served
    finally:
        for plain in storm:
            plain.close()


def test_a_storm_of_handshakes_does_not_keep_others_waiting(servers):
    server = start(servers, "--tls-self-signed", "--workers", "1")
    hello = hello_of_a_client()
    with connect(server.port) as established:
        answer_of(established)
        # On a busy machine the server may be done before this process comes to its request.
        tries = (served_before_a_request(server, established, hello, 300) for _ in range(5))
        assert any(served < 300 for served in tries), "every handshake came before the request"
        answer_of(established)


def test_a_stop_ends_connections_with_a_goodbye(servers):
    server = start(servers, "--tls-self-signed")
    with connect(server.port) as idle, connect(server.port) as busy:
        answer_of(idle)
        busy.sendall(get("/sleep?ms=500"))
        time.sleep(0.2)  # its handler runs
        server.signal()
        assert idle.recv(1) == b""
        answer = b""
        while more := busy.recv(65536):
            answer += more
        assert b"Connection: close" in answer and answer.endswith(b"slept\n")


def test_certificates_are_read_again_at_sighup(servers, certificate, tmp_path):
    paths = [str(tmp_path / "site.crt"), str(tmp_path / "site.key")]

    def put(name):
        for source, target in zip(certificate(name), paths):
            shutil.copy(source, target)

    put("old.example")
    server = start(servers, "--tls-cert", paths[0], "--tls-key", paths[1], "--workers", "2")
    with connect(server.port) as before:
        answer_of(before)
        put("new.example")
        server.process.send_signal(signal.SIGHUP)
        assert server.stderr.wait_for(lambda lines: any("read again" in line for line in lines), 10)
        for _ in range(8):  # every worker
            wait_until(lambda: "CN = new.example" in s_client(server.port))
        (tmp_path / "site.key").write_text("no key")
        server.process.send_signal(signal.SIGHUP)
        assert server.stderr.wait_for(
            lambda lines: any("stay as they were" in line and "site.key" in line
                              for line in lines), 10)
        assert "CN = new.example" in s_client(server.port)
        answer_of(before)


@pytest.mark.tsan
def test_workers_do_not_race(servers, certificate):
    crt, key = certificate("one.example")
    server = start(servers, "--tls-cert", crt, "--tls-key", key, "--workers", "2", preset="tsan")
    server.process.send_signal(signal.SIGHUP)
    result = run("curl", "--silent", "--insecure", "--max-time", "15", "--parallel",
                 "--parallel-max", "8", f"https://127.0.0.1:{server.port}/ok?[1-40]",
                 f"https://127.0.0.1:{server.port}/pool/ok?[1-40]", "-o", "/dev/null")
    assert result.returncode == 0, result.stderr
    made, session = context(), None
    for _ in range(10):
        server.process.send_signal(signal.SIGHUP)
        with connect(server.port, made, session) as secure:
            answer_of(secure)
            session = secure.session
