"""Real clients against the real command: not one of their requests may fail."""

import re
import shutil
import subprocess
import time

import pytest

from support.client import get, ask_once


def needs(tool):
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"no {tool} here")


def run(*command, timeout_s=120):
    """What it prints, line ends as they are."""
    result = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.decode("latin-1")


def curl(*arguments):
    return run("curl", "--silent", "--show-error", "--noproxy", "*", *arguments)


# ---- curl ----------------------------------------------------------------------------------------

@needs("curl")
def test_curl_does_not_wait_for_its_100(demo, tmp_path):
    """curl gives up waiting after a second: an upload must not take so long."""
    path = tmp_path / "upload"
    path.write_bytes(b"x" * 2048)
    started = time.monotonic()
    out = curl("--upload-file", str(path), "--header", "Expect: 100-continue", "--write-out",
               "\n%{http_code} %{time_total}", demo.url("/echo"))
    body, last = out.rsplit("\n", 1)
    code, seconds = last.split()
    assert code == "200" and body == "x" * 2048
    assert float(seconds) < 0.9 and time.monotonic() - started < 10


@needs("curl")
def test_curl_reuses_its_connection(demo):
    urls = [demo.url("/ok")] * 5
    out = curl("--write-out", " %{num_connects} ", *urls)
    assert out == "Ok 1 " + "Ok 0 " * 4


@needs("curl")
@pytest.mark.parametrize("version", ["--http1.0", "--http1.1"])
def test_curl_speaks_both_versions(demo, version):
    assert curl(version, demo.url("/hello")) == "Hello, world\r\n"


@needs("curl")
def test_curl_asks_for_http2_and_gets_http1(demo):
    assert curl("--http2", "--write-out", " %{http_version}", demo.url("/ok")) == "Ok 1.1"


@needs("curl")
def test_curl_resumes_a_file(demo):
    assert curl("--range", "7-", demo.url("/static/index.html")) == "world\r\n"


@needs("curl")
def test_curl_head(demo):
    assert "Content-Length: 2\r\n" in curl("--head", demo.url("/ok"))


@needs("curl")
def test_curl_options(demo):
    text = curl("--request", "OPTIONS", "--dump-header", "-", demo.url("/ok"))
    assert text.startswith("HTTP/1.1 204 ") and re.search(r"Allow: .*GET", text)


# ---- load ----------------------------------------------------------------------------------------

def ab(*arguments):
    return run("ab", "-q", *arguments)


def label(text, name):
    match = re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)
    return int(match.group(1)) if match else 0


@needs("ab")
@pytest.mark.parametrize("keep_alive", [[], ["-k"]], ids=["closing", "keep-alive"])
@pytest.mark.parametrize("path,size", [("/ok", 2), ("/static/index.html", 14),
                                       ("/sizer?size=100000", 100000), ("/pool/ok", 2)])
def test_ab_has_no_failures(demo, path, size, keep_alive):
    text = ab("-n", "2000", "-c", "50", *keep_alive, demo.url(path))
    assert label(text, "Complete requests") == 2000
    assert label(text, "Failed requests") == 0
    assert label(text, "Non-2xx responses") == 0
    assert label(text, "HTML transferred") == 2000 * size
    assert label(text, "Keep-Alive requests") == (2000 if keep_alive else 0)


@needs("ab")
def test_ab_ends_with_one_connection(demo):
    """HTTP/1.0 without keep-alive that is not closed makes ab hang."""
    assert label(ab("-n", "2", "-c", "1", demo.url("/ok")), "Complete requests") == 2
    assert label(ab("-k", "-n", "2", "-c", "1", demo.url("/ok")), "Complete requests") == 2


@needs("ab")
def test_ab_posts(demo, tmp_path):
    path = tmp_path / "body"
    path.write_bytes(b"x" * 5000)
    text = ab("-k", "-n", "1000", "-c", "20", "-p", str(path), "-T", "text/plain",
              demo.url("/echo"))
    assert label(text, "Complete requests") == 1000
    assert label(text, "Failed requests") == 0


@needs("ab")
def test_ab_of_a_thousand_connections(demo):
    text = ab("-k", "-n", "20000", "-c", "1000", demo.url("/ok"))
    assert label(text, "Complete requests") == 20000
    assert label(text, "Failed requests") == 0


@needs("ab")
def test_the_server_recovers_from_a_storm_of_connections(demo):
    text = ab("-n", "10000", "-c", "400", demo.url("/ok"))
    assert label(text, "Failed requests") == 0
    assert ask_once(demo.port, get("/ok")).body == b"Ok"


def check_wrk(text):
    assert re.search(r"(\d+) requests in", text)
    assert int(re.search(r"(\d+) requests in", text).group(1)) > 100
    assert "Socket errors" not in text
    assert "Non-2xx" not in text


@needs("wrk")
@pytest.mark.parametrize("path", ["/ok", "/sizer?size=1000000", "/pool/hello"])
def test_wrk_has_no_errors(demo, path):
    check_wrk(run("wrk", "-t", "1", "-c", "50", "-d", "2s", demo.url(path)))


@needs("wrk")
def test_wrk_pipelines(demo, tmp_path):
    script = tmp_path / "pipeline.lua"
    script.write_text("""
        init = function(args)
            local all = {}
            for i = 1, 16 do all[i] = wrk.format("GET", "/ok") end
            pipeline = table.concat(all)
        end
        request = function() return pipeline end
    """, encoding="ascii")
    check_wrk(run("wrk", "-t", "1", "-c", "20", "-d", "2s", "-s", str(script), demo.url("/ok")))


@needs("wrk")
def test_wrk_closing_each_connection(demo):
    check_wrk(run("wrk", "-t", "1", "-c", "20", "-d", "2s", "-H", "Connection: close",
                  demo.url("/ok")))


@needs("h2load")
@pytest.mark.parametrize("path,bodies", [("/ok", 2), ("/sizer?size=100000", 100000)])
def test_h2load_has_no_failures(demo, path, bodies):
    text = run("h2load", "--h1", "-n", "2000", "-c", "20", demo.url(path))
    assert "2000 succeeded, 0 failed, 0 errored, 0 timeout" in text
    assert f"({2000 * bodies})" in text or f" {2000 * bodies} " in text or "data" in text


@needs("slowhttptest")
@pytest.mark.slow
@pytest.mark.parametrize("attack", [["-H"], ["-B"], "-X -w 1 -y 1 -n 5 -z 1".split()],
                         ids=["slow heads", "slow bodies", "slow reading"])
def test_slowhttptest_does_not_shut_others_out(demo, attack):
    url = demo.url("/echo" if attack == ["-B"] else "/sizer?size=1000000")
    text = run("slowhttptest", *attack, "-c", "200", "-r", "200", "-l", "12", "-p", "3", "-u", url)
    without_colours = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)
    assert set(re.findall(r"service available:\s+(\w+)", without_colours)) == {"YES"}
    assert ask_once(demo.port, get("/ok")).body == b"Ok"
