"""What sslscan and testssl.sh find weak in the command's TLS: nothing."""

import json
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from support.certificates import Authority
from support.waiting import wait_until

SCAN_TIMEOUT_S = 180

# testssl.sh's checks: the slow ones once, since they are not about the certificate.
CHECKS = {"ec": ["-p", "-P", "-f", "-S"], "rsa": ["-p", "-U", "-s"], "self-signed": ["-p", "-S"]}

# What testssl.sh holds against a certificate that nobody vouches for, valid for thirty days.
ABOUT_SELF_MADE = {"cert_chain_of_trust", "cert_expirationStatus", "cert_notAfter",
                   "cert_revocation"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("scanned"))


@pytest.fixture(scope="module", params=["ec", "rsa", "self-signed"])
def scanned(request, module_servers, authority):
    """The kind of a server's certificate, and its port."""
    if request.param == "self-signed":
        arguments = ["--tls-self-signed"]
    else:
        crt, key = authority.make(request.param)
        arguments = ["--tls-cert", crt, "--tls-key", key]
    server = module_servers.demo("--tls-listen", "127.0.0.1:0", *arguments, "--workers", "1",
                                 listen=())
    return request.param, server.port


# ---- sslscan ---------------------------------------------------------------------------------------


def sslscan(port):
    done = subprocess.run(["sslscan", "--xml=-", "--no-colour", f"localhost:{port}"],
                          capture_output=True, timeout=SCAN_TIMEOUT_S, check=True)
    return ElementTree.fromstring(done.stdout).find("ssltest")


def weaknesses(scan):
    found = [f"{protocol.get('type')} {protocol.get('version')}"
             for protocol in scan.iter("protocol")
             if protocol.get("enabled") == "1" and protocol.get("version") not in ("1.2", "1.3")]
    found += [cipher.get("cipher") for cipher in scan.iter("cipher")
              if cipher.get("strength") not in ("strong", "acceptable")
              or not (cipher.get("curve") and cipher.get("cipher").split("-")[0].startswith(
                  ("TLS_", "ECDHE")))]
    found += [group.get("name") for group in scan.iter("group") if int(group.get("bits")) < 128]
    found += ["heartbleed" for test in scan.iter("heartbleed") if test.get("vulnerable") != "0"]
    found += ["renegotiation" for test in scan.iter("renegotiation")
              if test.get("supported") != "0"]
    found += ["compression" for test in scan.iter("compression") if test.get("supported") != "0"]
    return found


def test_sslscan_finds_nothing_weak(scanned):
    _, port = scanned
    scan = sslscan(port)
    assert weaknesses(scan) == []
    versions = {cipher.get("sslversion") for cipher in scan.iter("cipher")}
    assert versions == {"TLSv1.2", "TLSv1.3"}


def test_sslscan_would_find_it(authority):
    """The twin: a server of OpenSSL's that speaks whatever it can."""
    crt, key = authority.make("rsa", name="weak")
    weak = subprocess.Popen(["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", crt, "-key",
                             key, "-cipher", "ALL:@SECLEVEL=0", "-www"], stdout=subprocess.PIPE,
                            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    try:
        lines = []

        def says_its_port():
            lines.append(weak.stdout.readline())
            return lines[-1].startswith("ACCEPT")

        wait_until(says_its_port)
        found = weaknesses(sslscan(lines[-1].rsplit(":", 1)[1].strip()))
    finally:
        weak.kill()
        weak.communicate()
    assert {"tls 1.0", "tls 1.1", "renegotiation", "AES128-SHA"} <= set(found)


# ---- testssl.sh --------------------------------------------------------------------------------------


def testssl(port, authority, folder, *checks):
    """Its findings: name to (severity, sentence)."""
    report = folder / "testssl.json"
    done = subprocess.run(["testssl", "--quiet", "--color", "0", "--warnings", "off", "--nodns",
                           "none", "--ip", "127.0.0.1", "--add-ca", str(authority.ca), "--jsonfile",
                           str(report), *checks, f"https://localhost:{port}"],
                          capture_output=True, text=True, timeout=SCAN_TIMEOUT_S, check=False,
                          stdin=subprocess.DEVNULL, cwd=folder)
    assert report.exists(), done.stdout + done.stderr
    return {entry["id"]: (entry["severity"], entry["finding"])
            for entry in json.loads(report.read_text(encoding="utf-8"))}


testssl.__test__ = False  # pytest, it only begins like one


def test_testssl_finds_nothing_weak(scanned, authority, tmp_path):
    kind, port = scanned
    # The slow checks once: they are not about the certificate.
    checks = {"ec": ["-p", "-P", "-f", "-S"], "rsa": ["-p", "-U", "-s"], "self-signed": ["-p", "-S"]}
    found = testssl(port, authority, tmp_path, *checks[kind])
    assert found["TLS1_2"] == ("OK", "offered")
    assert found["TLS1_3"][0] == "OK"
    if kind == "rsa":
        assert found["heartbleed"][0] == found["ROBOT"][0] == "OK"
        assert found["secure_client_renego"] == ("OK", "not vulnerable")
    allowed = ABOUT_SELF_MADE if kind == "self-signed" else set()
    # INFO is a fact, WARN a check that could not be made.
    assert {name: said for name, said in found.items()
            if said[0] not in ("OK", "INFO", "WARN") and name not in allowed} == {}
