"""Property of a served folder: whatever a target is spelled like, the answer is the one that a few lines
of Python come to by way of realpath(3), and nothing of what lies outside ever comes out.

Spellings are made of real paths, inside and outside, by changes that once fooled some server: dots, in
every coding; slashes and backslashes; parameters; NUL; codings too long; empty segments; case.
"""

import collections
import os
import random
import re
from urllib.parse import unquote_to_bytes

import pytest

from support import h2_frames as h2
from support.client import Client
from support.h2_client import H2Client
from support.server import program

CANARY = b"canary"
ROUNDS = 20000
BATCH = 100

FILES = ["index.html", "a.txt", "a b.txt", "\u00e9.txt", "sub/x.txt", "sub/deep/y.txt", "with/index.html",
         "...", "..a", "a..", "b\\c", "%2e%2e", "semi;colon", "q?mark", ".hidden", ".git/config",
         ".well-known/token", "A.TXT", "pub", "sub/pub/z.txt"]
LINKS = {"in": "a.txt", "sub/in": "../a.txt", "alias": "sub", "sub/deep/alias": "../../with",
         "out": "../secret.txt", "up": "..", "sub/up": "../..", "sideways": "../pub-secret", "root": "/",
         "etc": "/etc", "loop": "loop", "dangling": "none", "chain": "up"}
OUTSIDE = ["secret.txt", "pub-secret/s.txt", "pubs", "index.txt"]


@pytest.fixture(scope="module", name="folder")
def make_folder(tmp_path_factory):
    top = tmp_path_factory.mktemp("paths")
    for name in FILES:
        path = top / "pub" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"inside " + name.encode())
    (top / "pub" / "empty").mkdir()
    for name in OUTSIDE:
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_bytes(CANARY)
    for name, target in LINKS.items():
        os.symlink(target, top / "pub" / name)
    return top / "pub"


# ---- what must come ------------------------------------------------------------------------------

def names_of(path):
    """The decoded segments, dots removed, an empty one at the end for a slash there. None: a 400."""
    names, segments = [], path.split("/")[1:]
    for number, segment in enumerate(segments):
        segment = segment.split(";")[0]
        if re.search("%(?![0-9A-Fa-f]{2})", segment):
            return None
        name, last = unquote_to_bytes(segment), number == len(segments) - 1
        if b"\0" in name or name == b".." and not names:
            return None
        if b"/" in name and b".." in name.split(b"/"):
            return None  # no segment of dots, but one for whoever opens what it decodes to
        if name == b"..":
            names.pop()
        elif name != b".":
            names.append(name)
            continue
        if last:
            names.append(b"")
    return names


def is_shown(names, hidden):
    return hidden or not any(name.startswith(b".") and not (number == 0 and name == b".well-known")
                             for number, name in enumerate(names))


def expected(folder, target, hidden):
    """(status, content)"""
    names = names_of(target.split("?")[0])
    if names is None:
        return 400, None
    slash = names[-1] == b""
    names = names[:-1] if slash else names
    if any(not name or b"/" in name for name in names) or not is_shown(names, hidden):
        return 404, None
    root = os.fsencode(folder)
    ways = [os.path.realpath(os.path.join(root, *names[:depth])) for depth in range(len(names) + 1)]
    if any(way != root and not way.startswith(root + b"/") for way in ways):
        return 404, None  # not even out and in again
    path = ways[-1]
    if os.path.isdir(path):
        path = os.path.join(path, b"index.html") if slash else None
        if path is None:
            return 301, None
    elif slash:
        return 404, None
    if not os.path.isfile(path):
        return 404, None
    with open(path, "rb") as file:
        return 200, file.read()


# ---- spellings -----------------------------------------------------------------------------------

SEPARATORS = ["/"] * 12 + ["//", "/./", "/x/../", "/;/", "%2f", "%2F", "\\", "%5c", "%252f", "%c0%af",
                           "/%2e/", "/%2E%2e/", "/..;a=b/", "/.;/", "%00/", "/%00", "/.../", "/ /"]
PARENTS = ["..", "%2e%2e", ".%2e", "%2E.", "%252e%252e", "..;", "..;v=1", "%c0%ae%c0%ae", "..%00",
           "%u002e%u002e", "....", "..%20", "..%5c", "..%2f", ".%00.", "%ef%bc%8e%ef%bc%8e", "%%32e."]
TAILS = [""] * 8 + ["/", "/.", "/..", ".", "%20", "%00", "%00.txt", ";", ";x", "?", "?a=/../b", "/x",
                    "%", "%2", "::$DATA", "~", "\\", "/index.html"]
SAFE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,=:@")


def spell(chance, octet):
    """A character of a name, some way of writing it."""
    text = chr(octet)
    way = chance.random()
    if text in SAFE and way < 0.94:
        return text
    if way > 0.995:
        return "%%25%02x" % octet
    if way > 0.99 and text.isalpha() and text.isascii():
        return text.swapcase()
    return ("%%%02x" if chance.random() < 0.5 else "%%%02X") % octet


def spell_path(chance, folder):
    names = chance.choice(FILES + sorted(LINKS) + ["out/x", "up/secret.txt", "up/pub/a.txt",
                                                   "chain/secret.txt", "sideways/s.txt",
                                                   "root/etc/passwd", "etc/passwd", "alias/x.txt", "alias/deep/alias/",
                                                   "empty/", ""]).split("/")
    if chance.random() < 0.4:
        up = chance.randrange(1, 5)
        below = chance.choice(OUTSIDE + ["etc/passwd", folder.name + "/a.txt", "pub-secret/s.txt"])
        names = names[:chance.randrange(len(names) + 1)] + [None] * up + below.split("/")
    if chance.random() < 0.02:
        names.insert(chance.randrange(len(names) + 1), "n" * 256)
    target = ""
    for name in names:
        separator = chance.choice(SEPARATORS) if chance.random() < 0.25 else "/"
        target += separator
        target += (chance.choice(PARENTS) if name is None
                   else "".join(spell(chance, octet) for octet in name.encode()))
    target += chance.choice(TAILS)
    return ("" if target.startswith("/") else "/") + target.replace(" ", "%20")


def spellings(folder, seed, count):
    chance = random.Random(seed)
    return [spell_path(chance, folder) for _ in range(count)]


# ---- the property --------------------------------------------------------------------------------

def judge(folder, target, hidden, answer):
    status, content = expected(folder, target, hidden)
    seen = answer.body + repr(answer.fields).encode()
    assert CANARY not in seen and b"root:" not in seen, target
    assert answer.status == status, f"{target}: {answer.status}, not {status}"
    if status == 200:
        assert answer.body == content, target
    if status == 301:
        assert re.match("/([^/]|$)", answer.fields.get("Location")), target


@pytest.mark.parametrize("hidden", [False, True], ids=["", "hidden"])
def test_a_target_gets_the_file_that_it_names_and_no_other(module_servers, folder, hidden):
    server = module_servers.start([program("rivulet"), "serve", "--listen", "127.0.0.1:0", "--no-listing",
                                   *(["--hidden"] if hidden else []), str(folder)])
    targets = spellings(folder, f"HTTP/1 {hidden}", ROUNDS)
    statuses = collections.Counter()
    with Client(server.port) as client:
        for at in range(0, ROUNDS, BATCH):
            batch = targets[at:at + BATCH]
            client.send(b"".join(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode("latin-1")
                                 for target in batch))
            for target in batch:
                answer = client.answer()
                judge(folder, target, hidden, answer)
                statuses[answer.status] += 1
    assert set(statuses) == {200, 301, 400, 404} and min(statuses.values()) > ROUNDS / 200, statuses


def test_so_does_one_in_http2(module_servers, folder):
    server = module_servers.start([program("rivulet"), "serve", "--listen", "127.0.0.1:0", "--no-listing",
                                   str(folder)])
    targets = spellings(folder, "HTTP/2", 1500)
    with H2Client(server.port) as client:
        for at in range(0, len(targets), BATCH):
            batch = {2 * (at + number) + 1: target
                     for number, target in enumerate(targets[at:at + BATCH])}
            client.send(b"".join(h2.get(stream, target) for stream, target in batch.items()))
            client.wait_over(*batch)
            for stream, target in batch.items():
                judge(folder, target, False, client.reader.streams.pop(stream))
