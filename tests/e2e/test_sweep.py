"""`rivulet sweep` as a user meets it: its tables, what it compares, and that nothing is left running."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import jsonschema
import pytest

from support.certificates import Authority
from support.command import rivulet
from support.server import REPORTS, ROOT, program, sanitizer_environment
from support.waiting import wait_until

pytestmark = pytest.mark.alone

SMALL = ("-n", "60", "--clients", "2,3", "--sizes", "10,1k", "--size-clients", "4")
SCHEMA = json.loads((ROOT / "docs" / "sweep.schema.json").read_text(encoding="utf-8"))
HEADER = ["Completed", "Failed", "req/sec", "msec/req", "KB/sec"]


def command(*arguments):
    return [program("rivulet"), "sweep", *arguments]


def sweep(*arguments, timeout_s=120, **options):
    return rivulet("sweep", *arguments, timeout_s=timeout_s, **options)


def tables(text):
    """[(title, [[cell…]…])…] of all tables, whose lines are checked for their form."""
    found, title = [], None
    for block in text.split("\n\n"):
        lines = block.strip("\n").split("\n")
        if " | " not in lines[0]:
            title = lines[-1] if lines[-1].endswith(":") else lines[0]
            continue
        rows = []
        for line in lines:
            if not line.endswith(" |"):
                break
            rows.append(line[:-2].split(" | "))
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        assert all([len(cell) for cell in row] == widths for row in rows), block
        assert all(max(len(row[i].strip()) for row in rows) == widths[i]
                   for i in range(len(widths))), block
        found.append((title, [[cell.strip() for cell in row] for row in rows]))
    return found


def rows_of_csv(*arguments, **options):
    return list(csv.DictReader(io.StringIO(sweep("--format", "csv", *arguments, **options).out)))


# ---- the three reports -----------------------------------------------------------------------------

def test_the_three_reports_have_the_titles_and_the_form_of_the_original():
    done = sweep(*SMALL)
    assert done.out.startswith("Starting rivulet app server...\nStarted in ")
    assert re.search(r"^Started in [0-9.]+ seconds: http://127\.0\.0\.1:\d+, ", done.out, re.M)
    assert done.err == ""
    (dynamic, static, size) = tables(done.out)
    assert dynamic[0] == ("Client Thread Report (60 requests, 14 byte response body, "
                          "10 server threads):")
    assert static[0] == ("Client Thread Report (60 requests, 14 bytes via staticdir, "
                         "10 server threads):")
    assert size[0] == "Size Report (60 requests, 4 client threads, 10 server threads):"
    for _, rows in (dynamic, static):
        assert rows[0] == ["threads"] + HEADER
        assert [row[0] for row in rows[1:]] == ["2", "3", "Average"]
        assert rows[3][1:3] == ["60.0", "0.0"]
        assert abs(float(rows[3][3]) - (float(rows[1][3]) + float(rows[2][3])) / 2) < 0.001
    assert size[1][0] == ["bytes"] + HEADER
    assert [row[0] for row in size[1][1:]] == ["10", "1000"]
    for _, rows in (dynamic, static, size):
        for row in rows[1:]:
            assert float(row[1]) == 60 and float(row[2]) == 0 and all(float(c) > 0 for c in row[3:])
    assert all(re.fullmatch(r"\d+\.\d\d", row[3]) and re.fullmatch(r"\d+\.\d{3}", row[4])
               for row in size[1][1:])


def test_without_a_pool_the_title_counts_workers():
    done = sweep(*SMALL, "--pool", "0")
    workers = max(1, len(os.sched_getaffinity(0)) // 2)
    text = f"{workers} worker" + ("s" if workers > 1 else "")
    assert f"14 byte response body, {text}):" in done.out


def test_a_body_of_many_megabytes_is_counted_whole_and_a_capped_row_says_so():
    rows = rows_of_csv("-n", "20", "--clients", "1", "--sizes", "10,100M", "--size-clients", "2",
                       "--quick")
    (large,) = [row for row in rows if row["bytes"] == "100000000"]
    assert (large["requests"], large["completed"], large["failed"]) == ("10", "10", "0")
    assert float(large["kib_per_s"]) > 100000000 * float(large["requests_per_s"]) / 1024 * 0.99
    done = sweep("-n", "20", "--clients", "1", "--sizes", "10,100M", "--size-clients", "2",
                 "--quick")
    (title, size) = tables(done.out)[-1]
    assert title.startswith("Size Report (20 requests, ")
    assert size[0][-1] == "capped"
    assert [row[-1] for row in size[1:]] == ["no", "10 of 20 requests"]


def test_repeated_rows_are_medians_with_their_spread():
    done = sweep(*SMALL, "--repeat", "3")
    found = tables(done.out)
    assert len(found) == 6
    (_, medians), (_, spread) = found[0], found[1]
    assert spread[0][1:] == [f"{name} min…max" for name in ("Failed", "req/sec", "msec/req",
                                                            "KB/sec")]
    for median, ends in zip(medians[1:3], spread[1:]):
        lowest, highest = (float(end) for end in ends[2].split("…"))
        assert lowest <= float(median[3]) <= highest


def test_every_client_has_its_share_with_a_quota():
    rows = rows_of_csv("-n", "10", "--clients", "4", "--sizes", "10", "--size-clients", "3",
                       "--quota", "--no-keepalive")
    assert [row["completed"] for row in rows] == ["12", "12", "12"]


# ---- listen queues ------------------------------------------------------------------------------------

def test_a_short_listen_queue_shows_its_stalls_and_the_kernels_counts(tmp_path):
    """Eight clients at once on a queue of 1: some wait for the kernel's retries."""
    file = tmp_path / "sweep.json"
    done = sweep("-n", "64", "--clients", "8", "--sizes", "10", "--size-clients", "1",
                 "--backlog", "1,128", "-o", file, timeout_s=240)
    mode = "Each client finishes its own share of the requests, every one on a new connection."
    assert mode in done.out
    found = tables(done.out)
    assert len(found) == 9
    assert [title for title, _ in found[6:]] == [
        f"Listen queue of 1 against 128, {kind}:" for kind in ("dynamic", "static", "size")]
    saved = json.loads(file.read_text())
    assert (saved["format"], saved["version"], saved["mode"]) == ("rivulet-sweep", 1, mode)
    short, long = ([row for row in saved["rows"] if row["backlog"] == backlog
                    and row["report"] != "size"] for backlog in (1, 128))
    assert all(row["listen_overflows"] > 0 for row in short)
    assert max(row["max_ms"] for row in short) > 150
    assert all(row["completed"] == 64 and row["failed"] == 0 for row in long)
    assert max(row["p50_ms"] for row in long) < 150
    compared = dict(zip(found[6][1][0], found[6][1][1]))
    assert compared["threads"] == "8"
    assert float(compared["ratio"]) > 1
    assert int(compared["overflows 1"]) == short[0]["listen_overflows"]


def test_the_saved_file_has_the_result_of_each_run(tmp_path):
    file = tmp_path / "sweep.json"
    sweep(*SMALL, "-o", file)
    saved = json.loads(file.read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(saved)
    assert saved["command"].startswith("rivulet sweep -n 60")
    assert [(row["report"], row["clients"], row["bytes"]) for row in saved["rows"]] == [
        ("dynamic", 2, 14), ("dynamic", 3, 14), ("static", 2, 14), ("static", 3, 14),
        ("size", 4, 10), ("size", 4, 1000)]
    assert all(row["result"] for row in saved["rows"])
    printed = json.loads(sweep(*SMALL, "--format", "json").out)
    assert [row["report"] for row in printed["rows"]] == [row["report"] for row in saved["rows"]]


def report(*arguments, **options):
    return rivulet("report", *arguments, **options)


def test_a_saved_sweep_is_shown_again(tmp_path):
    file = tmp_path / "sweep.json"
    done = sweep(*SMALL, "--repeat", "2", "-o", file)
    again = report(file).out
    assert again.strip() == done.out.split("\n\n", 1)[1].strip()
    assert json.loads(report("--format", "json", file).out) == json.loads(file.read_text())
    assert report("--format", "csv", "-", input=file.read_text()).out.count("\n") == 13
    assert "ab has no form" in report("--format", "ab", file, code=1).err


def test_a_saved_sweep_that_is_broken_is_told(tmp_path):
    file = tmp_path / "sweep.json"
    file.write_text('{"format": "rivulet-sweep", "version": 1, "requests": 1, "size_clients": 1, '
                    '"rows": [{"report": "dynamic"}]}')
    done = report(file, code=2)
    assert done.err.startswith(f"rivulet report: {file} is no sweep of rivulet: ")
    assert "rows[0]" in done.err and done.err.count("\n") == 1


def test_a_file_that_cannot_be_written_is_told_before_anything_runs(tmp_path):
    done = sweep(*SMALL, "-o", tmp_path / "no" / "file", code=2)
    assert str(tmp_path / "no" / "file") in done.err
    assert "No such file or directory" in done.err
    assert done.out == ""


def test_a_report_that_cannot_be_printed_is_told():
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(command(*SMALL), stdout=full, stderr=subprocess.PIPE, text=True,
                              timeout=120, env=sanitizer_environment(), check=False)
    assert done.returncode == 2 and "No space left on device" in done.stderr


# ---- ab ---------------------------------------------------------------------------------------------------

def test_ab_makes_the_load_when_it_is_asked_to():
    ab = shutil.which("ab")
    assert ab, "ab is missing: apt-get install apache2-utils"
    by_ab = json.loads(sweep(*SMALL, "--ab", ab, "--format", "json").out)
    jsonschema.Draft202012Validator(SCHEMA).validate(by_ab)
    rows = rows_of_csv(*SMALL, "--ab", ab)
    assert [row["completed"] for row in rows] == ["60"] * 6
    assert all(float(row["requests_per_s"]) > 0 and row["max_ms"] for row in rows)
    assert len(tables(sweep(*SMALL, "--ab", ab).out)) == 3


def test_a_missing_ab_is_told_in_one_line():
    done = sweep(*SMALL, "--ab", "/nonexistent/ab", code=2)
    assert done.err.count("\n") == 1
    assert '"/nonexistent/ab": No such file or directory' in done.err


def test_what_ab_says_instead_of_a_report_is_shown(tmp_path):
    ab = tmp_path / "ab"
    ab.write_text("#!/bin/sh\necho 'apr_socket_recv: Connection reset by peer (104)'\n")
    ab.chmod(0o755)
    done = sweep(*SMALL, "--ab", ab, code=3)
    assert done.out.count("Connection reset by peer (104)") == 6


# ---- a server of the user's own -------------------------------------------------------------------------------

def test_a_url_gets_a_client_thread_report(demo):
    done = sweep("-n", "60", "--clients", "2,3", demo.url("/ok"))
    ((title, rows),) = tables(done.out)
    assert re.fullmatch(r"Client Thread Report \(60 requests, 2 byte response body, "
                        r"\d+ server threads\):", title)
    assert [row[:3] for row in rows[1:]] == [["2", "60", "0"], ["3", "60", "0"],
                                             ["Average", "60.0", "0.0"]]


def test_an_https_url_needs_somebody_who_vouches_for_it(servers, tmp_path):
    authority = Authority(tmp_path)
    crt, key = authority.make()
    server = servers.demo("--tls-listen", "127.0.0.1:0", "--tls-cert", crt, "--tls-key", key,
                          listen=())
    row = ("-n", "60", "--clients", "3", f"https://127.0.0.1:{server.port}/ok")
    for words in (("-k",), ("--cacert", authority.ca)):
        ((_, rows),) = tables(sweep(*words, *row).out)
        assert rows[1][:3] == ["3", "60", "0"]
    assert "3 | 0" not in sweep(*row, code=2).out
    assert "cannot be used" in sweep("--cacert", tmp_path / "absent", *row, code=2).err


@pytest.mark.parametrize("words, sentence", [
    (("-k", "http://127.0.0.1:1/"), "--insecure is for https URLs"),
    (("--cacert", "x"), "the demo server speaks no TLS"),
    (("--cacert", "x", "--ab", "ab", "https://127.0.0.1:1/"), "ab checks no certificate"),
])
def test_what_is_asked_of_tls_is_for_https(words, sentence):
    assert sentence in sweep(*words, code=1).err


def test_a_url_with_a_size_gets_a_size_report(demo):
    done = sweep("-n", "60", "--sizes", "5,1k", "--size-clients", "3",
                 demo.url("/sizer?size={size}"))
    ((title, rows),) = tables(done.out)
    assert title.startswith("Size Report (60 requests, 3 client threads, ")
    assert [row[:3] for row in rows[1:]] == [["5", "60", "0"], ["1000", "60", "0"]]


def test_a_body_of_another_size_than_the_one_asked_for_is_a_failure(demo):
    done = sweep("-n", "60", "--sizes", "2,5", "--size-clients", "3", demo.url("/ok?{size}"),
                 code=2)
    ((_, rows),) = tables(done.out)
    assert [row[:3] for row in rows[1:]] == [["2", "60", "0"], ["5", "0", "60"]]
    assert "Failed, 5 bytes: 60 body not of the length asked for" in done.out


def test_answers_with_an_error_status_are_failures(demo):
    done = sweep("-n", "60", "--clients", "2", demo.url("/nosuch"), code=3)
    assert "Failed, 2 threads: 60 status 404" in done.out


def test_a_server_that_is_not_there_is_told():
    done = sweep("-n", "20", "--clients", "2", "http://127.0.0.1:1/", code=2)
    assert re.search(r"Failed, 2 threads: \d+ connection refused", done.out)


# ---- wrong command lines -----------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, words", [
    (("--sizes", "ten"), '--sizes must be up to 64 different sizes such as 10, 1k or 100M'),
    (("--backlog", "5,0"), "--backlog must be"),
    (("--backlog", "5", "http://127.0.0.1:1/"), "that of http://127.0.0.1:1/ is its own"),
    (("--sizes", "5", "http://127.0.0.1:1/"), "{size}"),
    (("--quota", "--shared"), "--quota and --shared"),
    (("-o", "-"), "-o takes a file"),
    (("--nosuch",), "there is no option --nosuch"),
    (("--clients",), "--clients needs a value"),
    (("ftp://127.0.0.1/",), "ftp"),
    (("http://127.0.0.1:99999/",), "99999"),
])
def test_a_wrong_command_line_is_told_in_one_line(arguments, words):
    done = sweep(*arguments, code=1)
    assert done.out == ""
    assert done.err.startswith("rivulet sweep: ") and words in done.err
    assert done.err.count("\n") == 1


def test_help_names_every_option():
    text = sweep("--help").out
    for option in ("-n", "--clients", "--sizes", "--size-clients", "--backlog", "--pool", "--quota",
                   "--shared", "--no-keepalive", "--keepalive", "--timeout", "--quick", "--repeat",
                   "--ab", "-o", "--format"):
        assert option in text


# ---- nothing is left running ----------------------------------------------------------------------------------------

def children(pid):
    return [int(child) for child in
            pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


class Long:
    """A sweep whose first row lasts, and what it has started."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen(
            command("-n", "1G", "--clients", "2", "--sizes", "10", *arguments),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=sanitizer_environment())

    def __enter__(self):
        self.started = wait_until(lambda: children(self.process.pid), what="the demo server",
                                  timeout_s=30)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self, number):
        """Ends it by a signal; returns (exit status, stdout, stderr)."""
        os.kill(self.process.pid, number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def assert_nothing_is_left(self):
        wait_until(lambda: not any(is_running(pid) for pid in self.started),
                   what="the end of what it started")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_shows_what_there_is_and_leaves_no_server(number):
    with Long() as running:
        time.sleep(1)
        status, out, err = running.end(number)
        assert status == 130, err
        ((_, rows),) = tables(out)
        assert int(rows[1][1]) > 0
        assert f"Broken off, 2 threads: {rows[1][1]} of 1000000000 requests ended" in out
        assert not REPORTS.search(err), err[-8000:]
        running.assert_nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_a_sweep_that_is_killed_leaves_no_server(number):
    with Long() as running:
        time.sleep(0.5)
        status, _, _ = running.end(number)
        assert status == -number
        running.assert_nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_neither_ab_nor_the_server_survive_a_sweep_that_ends(number, tmp_path):
    ab = tmp_path / "ab"
    ab.write_text("#!/bin/sh\nexec sleep 300\n")
    ab.chmod(0o755)
    with Long("--ab", str(ab), "--size-clients", "2") as running:
        running.started = wait_until(
            lambda: len(children(running.process.pid)) == 2 and children(running.process.pid),
            what="the server and ab", timeout_s=30)
        status, _, err = running.end(number)
        assert status == (130 if number == signal.SIGINT else -number), err
        running.assert_nothing_is_left()
