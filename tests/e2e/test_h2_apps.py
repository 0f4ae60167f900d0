"""The examples' applications over HTTP/2, on one connection with many streams: what one stream does, or
suffers, is no other's business."""

import collections
import hashlib
import os
import subprocess

import pytest

from support import h2_frames as h2
from support.example import Example
from support.h2_client import H2Client
from support.server import ROOT, program
from support.waiting import wait_until

FORM = [("content-type", "multipart/form-data; boundary=x")]
PART = b'--x\r\nContent-Disposition: form-data; name="f"; filename="n"\r\n\r\n'
END_OF_FORM = b"\r\n--x--"


@pytest.fixture
def start():
    """Starts an example."""
    started = []

    def begin(*arguments, **options):
        started.append(Example(*arguments, **options))
        return started[-1]
    yield begin
    for one in started:
        one.stop()


def ask(client, stream, path, method="GET", fields=()):
    if method == "HEAD":
        client.reader.heads.add(stream)
    return client.ask(h2.get(stream, path, method, fields), stream)


class Sender:
    """Sends content on the streams of a connection, as fast as the server's windows let it."""

    def __init__(self, client):
        self.client = client
        self.sent = collections.Counter()
        client.ping()  # the server's SETTINGS are here

    def begin(self, stream, path, method="POST", fields=()):
        self.client.send(h2.headers(stream, h2.block(h2.request(path, method, fields))))

    def room(self, reader, stream):
        granted = collections.Counter()
        for frame in reader.frames:
            if frame.name == "WINDOW_UPDATE":
                granted[frame.stream] += frame.number
        window = reader.settings.get("INITIAL_WINDOW_SIZE", h2.WINDOW)
        return min(h2.WINDOW + granted[0] - self.sent.total(),
                   window + granted[stream] - self.sent[stream])

    def send(self, stream, octets, end=False):
        while True:
            run = octets[:16384]
            if run:
                self.client.wait_for(lambda reader, run=run: self.room(reader, stream) >= len(run),
                                     "the server's windows")
            octets = octets[len(run):]
            self.sent[stream] += len(run)
            self.client.send(h2.data(stream, run, end=end and not octets))
            if not octets:
                return


# ---- sessions --------------------------------------------------------------------------------------

def test_cookies_that_come_singly_find_their_session(start):
    with H2Client(start("session").port) as client:
        first = ask(client, 1, "/")
        assert first.body == b"visit 1\n"
        cookie = first.fields.get("set-cookie").partition(";")[0]
        fields = [("cookie", "a=b"), ("cookie", cookie), ("cookie", "c=d")]
        assert ask(client, 3, "/", fields=fields).body == b"visit 2\n"
        assert ask(client, 5, "/").body == b"visit 1\n"
        assert ask(client, 7, "/", fields=[("cookie", f"a=b; {cookie}")]).body == b"visit 3\n"


def test_no_visit_of_many_streams_at_once_is_lost(start):
    with H2Client(start("session").port) as client:
        cookie = ask(client, 1, "/").fields.get("set-cookie").partition(";")[0]
        streams = range(3, 163, 2)
        client.send(b"".join(h2.get(stream, fields=[("cookie", cookie)]) for stream in streams))
        client.wait_over(*streams)
        bodies = {client.reader.streams[stream].body for stream in streams}
        assert bodies == {b"visit %d\n" % number for number in range(2, 82)}


# ---- talks that wait -------------------------------------------------------------------------------

def test_long_polls_wait_beside_each_other(start):
    with H2Client(start("chat").port) as client:
        for first in (1, 101, 201):
            waiting = range(first, first + 40, 2)
            client.send(b"".join(h2.get(stream, "/next") for stream in waiting))
            client.send(h2.rst_stream(first + 40 - 2))
            client.ping()
            assert not any(client.reader.stream(stream).status for stream in waiting)
            line = b"round %d" % first
            assert client.ask(h2.post(first + 50, "/say", line), first + 50).body == b"said\n"
            client.wait_over(*waiting[:-1])
            assert [client.reader.streams[stream].body for stream in waiting[:-1]] == [line] * 19


def test_a_chat_goes_on_for_those_who_stay(start):
    with H2Client(start("chat").port) as client:
        client.send(h2.get(1, "/listen") + h2.get(3, "/listen"))
        said = b"welcome\n"
        for stream in range(5, 65, 2):
            line = b"line %d\n" % stream
            client.ask(h2.post(stream, "/say", line), stream)
            said += line
            client.wait_for(lambda reader, said=said: reader.stream(1).body == said, "the line")
            if stream == 25:
                client.wait_for(lambda reader, said=said: reader.stream(3).body == said, "the line")
                client.send(h2.rst_stream(3))
        assert not client.reader.stream(1).ended


# ---- uploads ---------------------------------------------------------------------------------------

def test_uploads_whose_frames_are_mixed_arrive_apart(start, tmp_path):
    server = start("store", tmp_path)
    contents = {f"file{stream}": os.urandom(400_000 + stream) for stream in (1, 3, 5)}
    with H2Client(server.port) as client:
        sender = Sender(client)
        for stream in (1, 3, 5):
            sender.begin(stream, f"/file{stream}", "PUT")
        for at in range(0, 410_000, 10_000):
            for stream in (1, 3, 5):
                run = contents[f"file{stream}"][at:at + 10_000]
                sender.send(stream, run, end=at == 400_000)
        client.wait_over(1, 3, 5)
        assert [client.reader.streams[stream].status for stream in (1, 3, 5)] == [201] * 3
    assert {name: (tmp_path / name).read_bytes() for name in server.files()} == contents


@pytest.mark.parametrize("example, path, method, fields, head, tail", [
    ("store", "/file", "PUT", [], b"", b""),
    ("receive", "/receive", "POST", FORM, PART, END_OF_FORM)])
def test_a_reset_upload_leaves_nothing_and_harms_no_other(start, tmp_path, example, path, method,
                                                          fields, head, tail):
    server = start(example, tmp_path)
    with H2Client(server.port) as client:
        sender = Sender(client)
        sender.begin(1, path, method, fields)
        sender.begin(3, path, method, fields)
        sender.send(1, head + bytes(600_000))
        wait_until(lambda: len(server.files()) == 1, what="the file that is being written")
        sender.send(3, head + b"whole")
        client.send(h2.rst_stream(1))
        client.ping()
        wait_until(lambda: not server.files(), what="the end of the reset upload's file")
        sender.send(3, tail, end=True)
        assert client.wait_over(3).status in (200, 201)
        names = server.files()
        assert len(names) == 1 and (tmp_path / names[0]).read_bytes() == b"whole"


def test_progress_is_told_while_an_upload_is_under_way(start, tmp_path):
    with H2Client(start("receive", tmp_path).port) as client:
        sender = Sender(client)
        sender.begin(1, "/receive", "POST", FORM)
        for round_ in range(1, 6):
            sender.send(1, (PART if round_ == 1 else b"") + bytes(50_000))
            stream = 1 + 2 * round_
            told = int(ask(client, stream, "/progress").body.split()[0])
            assert 50_000 * round_ - 100 <= told <= 50_000 * round_
        sender.send(1, END_OF_FORM, end=True)
        assert client.wait_over(1).body.endswith(b" 250000 octets\n")


# ---- files and assets ------------------------------------------------------------------------------

@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a & b.txt").write_text("below", encoding="ascii")
    (tmp_path / "large").write_bytes(os.urandom(2_000_000))
    return tmp_path


def test_a_folder_to_browse(start, folder):
    with H2Client(start("home", folder).port) as client:
        listing = ask(client, 1, "/")
        assert listing.status == 200 and b'href="sub/"' in listing.body
        assert ask(client, 3, "/sub").fields.get("location") == "/sub/"
        assert b"a &amp; b.txt" in ask(client, 5, "/sub/").body
        assert ask(client, 7, "/sub/a%20%26%20b.txt").body == b"below"
        assert ask(client, 9, "/..%2f..%2fetc/passwd").status in (400, 404)
        assert ask(client, 11, "/none").status == 404


def test_conditions_ranges_and_heads_of_a_file(start, folder):
    content = (folder / "large").read_bytes()
    with H2Client(start("home", folder).port, settings={"INITIAL_WINDOW_SIZE": 1 << 22}) as client:
        client.open_window(0, 1 << 24)
        whole = ask(client, 1, "/large")
        assert whole.body == content
        tag = whole.fields.get("etag")
        head = ask(client, 3, "/large", "HEAD")
        assert head.status == 200 and head.fields.get("content-length") == "2000000"
        assert ask(client, 5, "/large", fields=[("if-none-match", tag)]).status == 304
        part = ask(client, 7, "/large", fields=[("range", "bytes=-5"), ("if-range", tag)])
        assert (part.status, part.body) == (206, content[-5:])
        parts = ask(client, 9, "/large", fields=[("range", "bytes=0-999999,1500000-")])
        assert parts.status == 206
        assert parts.fields.get("content-type").startswith("multipart/byteranges; boundary=")
        pieces = parts.body.split(b"\r\n\r\n", 1)[1]
        assert pieces.startswith(content[:1_000_000] + b"\r\n--")
        assert pieces[1_000_000:].split(b"\r\n\r\n", 1)[1].startswith(content[1_500_000:] + b"\r\n--")
        assert ask(client, 11, "/large", fields=[("range", "bytes=2000000-")]).status == 416


def test_files_of_which_some_are_given_up(start, folder):
    """Streams that are reset in the middle of a large file, between those that want all of it."""
    digest = hashlib.sha256((folder / "large").read_bytes()).digest()
    with H2Client(start("home", folder).port, settings={"INITIAL_WINDOW_SIZE": 1 << 22}) as client:
        client.open_window(0, 1 << 27)
        streams = range(1, 41, 2)
        client.send(b"".join(h2.get(stream, "/large") for stream in streams))
        given_up = [stream for stream in streams if stream % 4 == 3]
        client.send(b"".join(h2.rst_stream(stream) for stream in given_up))
        for stream in streams:
            if stream not in given_up:
                assert hashlib.sha256(client.wait_over(stream, timeout_s=30).body).digest() == digest


@pytest.mark.parametrize("way", ["clear", "tls"])
def test_several_ranges_for_curl(module_servers, folder, way):
    listen = ["--tls-listen", "127.0.0.1:0", "--tls-self-signed"] if way == "tls" else []
    server = module_servers.start(
        [program("rivulet"), "serve", str(folder), "--listen", "127.0.0.1:0", *listen],
        addresses=2 if way == "tls" else 1)
    version = "--http2" if way == "tls" else "--http2-prior-knowledge"
    got = subprocess.run(
        ["curl", "--silent", "--show-error", "--fail", "--insecure", "--noproxy", "*", version,
         "--max-time", "20", "--range", "0-9,1000000-1999999", server.addresses[-1] + "/large"],
        capture_output=True, check=True).stdout
    content = (folder / "large").read_bytes()
    assert content[:10] in got and content[1_000_000:] in got


def test_assets(start):
    with H2Client(start("assets").port) as client:
        page = ask(client, 1, "/")
        assert page.status == 200
        assert page.body == (ROOT / "examples/assets/index.html").read_bytes()
        tag = page.fields.get("etag")
        assert ask(client, 3, "/", fields=[("if-none-match", tag)]).status == 304
        assert ask(client, 5, "/css").fields.get("location") == "/css/"
        css = (ROOT / "examples/assets/css/site.css").read_bytes()
        part = ask(client, 7, "/css/site.css", fields=[("range", "bytes=0-1")])
        assert (part.status, part.body) == (206, css[:2])
        assert ask(client, 9, "/css/site.css", "HEAD").fields.get("content-length") == str(len(css))


# ---- errors ----------------------------------------------------------------------------------------

def test_errors_are_in_the_style_of_the_app(start):
    with H2Client(start("errors").port) as client:
        assert ask(client, 1, "/api/users/7").status == 200
        for stream, (path, status) in enumerate([("/api/users/0", 404), ("/api/users/x", 404),
                                                 ("/api/users/13", 500), ("/api/secret/7", 401)], 1):
            problem = ask(client, 1 + 2 * stream, path)
            assert problem.status == status
            assert problem.fields.get("content-type") == "application/json"
            assert problem.body.startswith(b'{"status":%d,' % status)
        refused = client.ask(h2.post(21, "/api/users/7", b"x"), 21)
        assert (refused.status, refused.fields.get("allow")) == (405, "GET, HEAD, OPTIONS")
        assert ask(client, 23, "/none").body == b"404 Not Found\n"
