"""An application (tests/browser/application) as its users see it, in a real browser: in the clear with
HTTP/1.1, and over TLS with HTTP/2."""

import hashlib
import os
import pathlib
import tempfile

import pytest

from support.browser import needs_browser
from support.processes import Watched, sockets
from support.server import program, sanitizer_environment
from support.waiting import wait_until

pytestmark = [needs_browser, pytest.mark.slow]
WAYS = pytest.mark.parametrize("way", ["clear", "tls"])
PROTOCOLS = {"clear": "http/1.1", "tls": "h2"}
LARGE = 200_000_000
GROWTH_MAX = 16_000_000
STRANGE = "<b>&lt;\"ü ö'%41;x?#+"


class Application:
    """A running one, with a folder to browse and one that uploads go to."""

    def __init__(self, servers, folder):
        self.folder, self.uploads, self.sent = (folder / name for name in ("files", "uploads", "sent"))
        for path in (self.folder, self.uploads, self.sent):
            path.mkdir()
        environment = sanitizer_environment()
        environment["ASAN_OPTIONS"] += ":quarantine_size_mb=1"  # what is freed is not to count as growth
        self.server = servers.start(
            [program("browser_application"), str(self.folder), str(self.uploads), "127.0.0.1:0",
             "127.0.0.1:0"], addresses=2, env=environment)

    def url(self, way):
        return self.server.addresses[way == "tls"]

    def file_to_send(self, name, length):
        path = self.sent / name
        block = os.urandom(1 << 20)
        with open(path, "wb") as file:
            while length > 0:
                length -= file.write(block[:length])
        return path


@pytest.fixture
def application(servers):
    """Large files do not wait for pytest to remove them some day."""
    with tempfile.TemporaryDirectory() as folder:
        yield Application(servers, pathlib.Path(folder))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@WAYS
def test_pages_and_assets_come_by_the_protocol_of_the_way(browser, application, way):
    assert browser.play("load", application.url(way)) == {
        "status": 200, "protocol": PROTOCOLS[way], "title": "Home", "color": "rgb(0, 0, 128)"}


@WAYS
def test_someone_logs_in_counts_and_logs_out(browser, application, way):
    browser.play("login", application.url(way))


def test_cookies_that_were_tampered_with_give_no_session(browser, application):
    browser.play("cookies", application.url("clear"))


def test_users_count_apart(browser, application):
    browser.play("users", application.url("tls"))


@WAYS
def test_a_large_file_is_uploaded_in_bounded_memory(browser, application, way):
    large, small = application.file_to_send("large", LARGE), application.file_to_send(STRANGE, 3_000_001)
    kept = application.sent / "kept"
    with Watched(application.server.pid) as memory:
        seen = browser.play("upload", application.url(way), files=[str(large), str(small)],
                            note="a <note>", keep=str(kept))
    assert memory.growth < GROWTH_MAX, f"{memory.growth} octets more"
    assert seen["rows"] == [["note", "a <note>"],
                            ["file", "large", str(LARGE), digest(large)],
                            ["file", STRANGE, "3000001", digest(small)]]
    assert seen["looks"] > 0, "its progress was to be seen"
    assert seen["counted"] > 2, "others were to be answered meanwhile"
    names = [pathlib.PurePath(link).name for link in seen["links"]]
    assert sorted(os.listdir(application.uploads)) == sorted(names)
    assert [digest(application.uploads / name) for name in names] == [digest(large), digest(small)]
    assert digest(kept) == digest(small)


@WAYS
def test_whoever_leaves_in_an_upload_leaves_no_file(browser, application, way):
    large = application.file_to_send("large", LARGE)
    arrived, expected = browser.play("leave", application.url(way), files=[str(large)])
    assert 0 < arrived < expected
    wait_until(lambda: not os.listdir(application.uploads), what="an empty folder")


@WAYS
def test_a_folder_is_browsed(browser, application, way):
    folder = application.folder
    for name in ("sub/deep", STRANGE):
        (folder / name).mkdir(parents=True)
    texts = {"Z.txt": "Z", "a.txt": "small", f"{STRANGE}.txt": "strange", "sub/deep/x.txt": "deep",
             f"{STRANGE}/{STRANGE}.txt": "stranger", "sub/two words.txt": "2 words"}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="ascii")
    (folder / "large.txt").write_text("x" * 1_572_864, encoding="ascii")
    (folder / ".hidden").write_text("hidden", encoding="ascii")
    seen = browser.play("listing", application.url(way),
                        refused={".hidden": 404, "none": 404, "sub/none": 404, "..%2fsent": 400})
    assert seen.pop("large.txt") == "x" * 1_572_864
    assert seen == {
        "": [[f"{STRANGE}/", ""], ["sub/", ""], [f"{STRANGE}.txt", "7 B"], ["Z.txt", "1 B"],
             ["a.txt", "5 B"], ["large.txt", "1.5 MiB"]],
        f"{STRANGE}/": [[f"{STRANGE}.txt", "8 B"]],
        "sub/": [["deep/", ""], ["two words.txt", "7 B"]],
        "sub/deep/": [["x.txt", "4 B"]],
        **texts}


@WAYS
def test_two_users_chat_and_one_leaves(browser, application, way):
    before = sockets(application.server.pid)
    browser.play("chat", application.url(way))
    wait_until(lambda: sockets(application.server.pid) <= before, what="closed connections")


@WAYS
def test_without_cookies_the_session_is_in_the_links(browser, application, way):
    (application.folder / "sub").mkdir()
    small = application.file_to_send("small", 1000)
    browser.play("linked", application.url(way), files=[str(small)])
