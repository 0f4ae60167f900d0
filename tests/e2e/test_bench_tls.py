"""`rivulet bench` and `rivulet ab` over TLS: what is counted, what is refused, and in which words."""

import json
import re
import socket
import ssl
import subprocess
import threading

import pytest

from support.command import rivulet

N = 60
TIMEOUT_S = 20


def bench(*words, **options):
    return rivulet("bench", "-c", 3, "-n", N, *words, **options)


def result(*words, **options):
    return json.loads(bench("-q", "--format", "json", *words, **options).out)


def openssl(*words):
    done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True,
                          timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """make(name, ...): the paths of a self-signed certificate for localhost and of its key."""
    folder = tmp_path_factory.mktemp("bench_tls")

    def make_one(name, *more, subject="DNS:localhost,IP:127.0.0.1"):
        paths = folder / f"{name}.crt", folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-addext", f"subjectAltName={subject}", "-out", paths[0],
                "-keyout", paths[1], *(more or ("-days", "2")))
        return paths

    return make_one


class Listener:
    """A TLS server of Python's that answers every connection's requests with 200, or says nothing. With
    `last` it answers one with these octets, and ends the connection: politely with `goodbye`."""

    def __init__(self, certificate, answers=True, last=None, goodbye=False, **settings):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*certificate)
        for name, value in settings.items():
            setattr(self.context, name, value)
        self.answers, self.last, self.goodbye = answers, last, goodbye
        self.seen = []  # what was agreed on, and the client's certificate
        self.names = []
        self.context.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain):
        with plain:
            plain.settimeout(TIMEOUT_S)
            try:
                if not self.answers:
                    plain.recv(65536)
                    plain.recv(65536)
                    return
                with self.context.wrap_socket(plain, server_side=True) as secure:
                    self.seen.append((secure.version(), secure.cipher()[0], secure.getpeercert(),
                                      secure.selected_alpn_protocol()))
                    while secure.recv(65536):
                        if self.last is not None:
                            secure.sendall(self.last)
                            if self.goodbye:
                                secure.unwrap()
                            return
                        secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOk")
            except OSError:
                return


def url(server, host="127.0.0.1", path="/ok"):
    return f"https://{host}:{server.port}{path}"


@pytest.fixture(scope="module")
def demo(module_servers):
    return module_servers.demo("--tls-listen", "127.0.0.1:0", "--tls-self-signed", listen=[],
                               addresses=1)


def findings(run):
    return {finding["id"]: finding["text"] for finding in run["why"]}


# ---- what is counted -------------------------------------------------------------------------------


def test_requests_and_handshakes_are_counted(demo):
    run = result("--insecure", url(demo))
    assert run["requests"]["answered"] == run["statuses"]["200"] == N
    assert run["connections"]["connects"] == 3
    assert run["tls"]["tls"] and run["tls"]["tls_version"] == "TLSv1.3"
    assert (run["tls"]["tls_full"], run["tls"]["tls_resumed"]) == (3, 0)
    assert run["times_us"]["handshake"]["count"] == run["times_us"]["connect"]["count"] == 3
    assert run["tls"]["tls_temp_key"] == "X25519 253 bits"


def test_without_keep_alive_each_request_has_a_handshake(demo):
    run = result("--insecure", "--no-keepalive", url(demo))
    assert run["requests"]["answered"] == N
    assert (run["tls"]["tls_full"], run["tls"]["tls_resumed"]) == (N, 0)
    assert run["times_us"]["handshake"]["count"] == N


def test_the_rate_of_connects_is_that_of_handshakes(demo):
    run = result("--insecure", "--no-keepalive", "--connect-rate", 100, url(demo))
    assert (run["requests"]["answered"], run["tls"]["tls_full"]) == (N, N)
    assert 0.5 < run["elapsed_us"] / 1e6 < 6  # a tenth of the rate would be too late even on a busy machine


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_sessions_are_taken_up_again_when_asked(demo, version):
    run = result("--insecure", "--no-keepalive", "--tls-resume", "--tls-version", version, url(demo))
    assert run["requests"]["answered"] == N
    assert run["tls"]["tls_version"] == f"TLSv{version}"
    assert run["tls"]["tls_full"] + run["tls"]["tls_resumed"] == N
    assert 1 <= run["tls"]["tls_full"] <= 6  # of each thread the clients that come first


def test_large_bodies_are_whole(demo):
    run = result("--insecure", url(demo, path="/sizer?size=1000000"))
    assert run["requests"]["answered"] == N
    assert run["octets"]["content_octets"] == N * 1000000


def test_the_report_has_the_handshake_and_what_was_agreed_on(demo):
    out = bench("-q", "--insecure", url(demo)).out
    assert re.search(r"^  handshake +3 ", out, re.M)
    assert "TLS          TLSv1.3, TLS_AES_256_GCM_SHA384, X25519 253 bits, 3 full handshakes, 0" in out


# ---- certificates ----------------------------------------------------------------------------------


def test_a_certificate_that_nobody_vouches_for_is_not_accepted(demo):
    run = bench("-q", url(demo), code=2)
    assert "certificate not accepted" in run.out
    assert "(self-signed certificate)" in run.out
    assert "--cacert FILE" in run.out and "--insecure" in run.out


def test_one_that_cacert_vouches_for_is(make):
    certificate = make("good")
    with Listener(certificate) as server:
        for host in "127.0.0.1", "localhost":
            run = result("--cacert", certificate[0], "--resolve", f"*:{server.port}:127.0.0.1",
                         url(server, host))
            assert run["requests"]["answered"] == N
        assert server.names == [None] * 3 + ["localhost"] * 3


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_one_for_another_name_is_not(make, host):
    certificate = make("other", subject="DNS:other.example")
    with Listener(certificate) as server:
        run = result("--cacert", certificate[0], "--resolve", f"*:{server.port}:127.0.0.1",
                     url(server, host), code=2)
    assert run["requests"]["answered"] == 0
    assert run["failures"]["tls_certificate"]["count"] == run["requests"]["failed"] > 0
    assert "mismatch" in findings(run)["certificate"]


def test_one_that_has_expired_is_not(make):
    certificate = make("expired")
    openssl("x509", "-in", certificate[0], "-signkey", certificate[1], "-days", "-1", "-out",
            certificate[0].with_name("over.crt"))
    certificate = certificate[0].with_name("over.crt"), certificate[1]
    with Listener(certificate) as server:
        run = result("--cacert", certificate[0], url(server), code=2)
    assert "certificate has expired" in findings(run)["certificate"]


def test_a_clients_certificate_is_shown(make):
    own, client = make("server"), make("client")
    with Listener(own, verify_mode=ssl.CERT_REQUIRED) as server:
        server.context.load_verify_locations(client[0])
        run = result("--cacert", own[0], "--cert", client[0], "--key", client[1], url(server))
        assert run["requests"]["answered"] == N
        assert {dict(part[0] for part in seen[2]["subject"])["commonName"]
                for seen in server.seen} == {"client"}


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_a_server_that_wants_one_turns_others_away(make, version):
    own = make("wants")
    with Listener(own, verify_mode=ssl.CERT_REQUIRED) as server:
        server.context.load_verify_locations(own[0])
        run = result("--cacert", own[0], "--tls-version", version, url(server), code=2)
    assert run["failures"]["tls_handshake"]["count"] > 0
    assert run["requests"]["answered"] == 0
    assert "tls_handshake" in findings(run)


# ---- handshakes that fail --------------------------------------------------------------------------


def test_a_plain_server_is_told_from_one_that_speaks_tls(servers):
    server = servers.demo()
    run = result("--insecure", f"https://127.0.0.1:{server.port}/ok", code=2)
    assert run["failures"]["tls_handshake"]["count"] == run["requests"]["failed"] > 0
    assert "the server answered in plain HTTP" in findings(run)["tls_handshake"]


def test_versions_that_do_not_meet_are_a_failed_handshake(make):
    with Listener(make("old"), maximum_version=ssl.TLSVersion.TLSv1_2) as server:
        run = result("--insecure", "--tls-version", "1.3", url(server), code=2)
        assert run["failures"]["tls_handshake"]["count"] > 0
        assert "protocol version" in run["tls"]["tls_failure"]
        run = result("--insecure", url(server))
        assert run["tls"]["tls_version"] == "TLSv1.2"


def test_a_handshake_that_is_not_answered_ends_with_the_time_limit(make):
    with Listener(make("silent"), answers=False) as server:
        run = result("--insecure", "--connect-timeout", "300ms", "-t", "2s", url(server), code=2)
    assert run["failures"]["tls_handshake"]["count"] > 0
    assert "not done within the time limit" in run["tls"]["tls_failure"]


def test_ciphers_are_the_users(make):
    with Listener(make("ciphers")) as server:
        for words, name in ((("--tls-version", "1.2"), "ECDHE-ECDSA-AES128-GCM-SHA256"),
                            ((), "TLS_CHACHA20_POLY1305_SHA256")):
            run = result("--insecure", *words, "--ciphers", name, url(server))
            assert run["tls"]["tls_cipher"] == name
        server.context.set_alpn_protocols(["http/1.1"])
        result("--insecure", url(server))
        assert server.seen[-1][3] == "http/1.1"


# ---- ends of connections ---------------------------------------------------------------------------

ENDLESS = b"HTTP/1.1 200 OK\r\n\r\nhow long this will be"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOk"


@pytest.mark.parametrize("goodbye", [True, False])
def test_an_answer_that_has_its_length_needs_no_goodbye(make, goodbye):
    with Listener(make("ends"), last=WHOLE, goodbye=goodbye) as server:
        run = result("--insecure", url(server))
    assert run["requests"]["answered"] == N and run["requests"]["failed"] == 0


def test_an_answer_that_the_end_delimits_is_whole_behind_a_goodbye(make):
    with Listener(make("ends"), last=ENDLESS, goodbye=True) as server:
        run = result("--insecure", url(server))
    assert run["requests"]["answered"] == N and run["requests"]["failed"] == 0
    assert run["octets"]["content_octets"] == N * len(b"how long this will be")


@pytest.mark.parametrize("octets, failure", [
    (b"", "wait_closed"), (WHOLE[:20], "head_closed"), (WHOLE[:-1], "body_short"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "body_short"),
    (ENDLESS, "body_cut"),
])
def test_an_answer_that_is_cut_off_is_a_failure(make, octets, failure):
    with Listener(make("ends"), last=octets) as server:
        run = result("--insecure", url(server), code=None)
    assert run["requests"]["answered"] == 0
    assert run["failures"][failure]["count"] == run["requests"]["failed"] == N
    assert "broken_off" in findings(run)


# ---- ab --------------------------------------------------------------------------------------------


def test_ab_prints_what_was_agreed_on(demo):
    out = rivulet("ab", "-n", 20, "-c", 2, "-q", url(demo, "localhost")).out
    assert "SSL/TLS Protocol:       TLSv1.3,TLS_AES_256_GCM_SHA384,256,256\n" in out
    assert "Server Temp Key:        X25519 253 bits\nTLS Server Name:        localhost\n\n" in out
    assert "Complete requests:      20\nFailed requests:        0\n" in out


def test_abs_options_of_tls_work(make):
    own, client = make("ab"), make("ab_client")
    both = client[0].with_name("both.pem")
    both.write_bytes(client[0].read_bytes() + client[1].read_bytes())
    with Listener(own, verify_mode=ssl.CERT_REQUIRED) as server:
        server.context.load_verify_locations(client[0])
        out = rivulet("ab", "-n", 6, "-k", "-q", "-I", "-f", "TLS1.2", "-Z",
                      "ECDHE-ECDSA-AES128-GCM-SHA256", "-E", both, url(server, "localhost")).out
        assert "TLSv1.2,ECDHE-ECDSA-AES128-GCM-SHA256,256,128\n" in out
        assert "TLS Server Name" not in out and server.names == [None]
