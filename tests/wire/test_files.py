"""Facts about files that compare responses with each other, in both protocols, of a folder and of the
same files as assets; and about every error that the library answers by itself. What one response says
is in the wire cases."""

import email
import re

import pytest

from support.asking import PROTOCOLS, Asker, ask
from support.client import Client, ask_once, get

ROOTS = ("folder", "assets")
HUNDRED = b"0123456789" * 10
NOT_COMPARED = {"date"}
OF_CONTENT = {"content-length", "content-type", "content-range", "content-encoding", "last-modified"}


@pytest.fixture(scope="module", params=ROOTS)
def target(request, module_servers):
    return module_servers.wire(root=request.param, workers=1, pool=1, pool_queue_max=1,
                               body_bytes_max=5000)


@pytest.fixture(params=PROTOCOLS)
def asker(request, target):
    with Asker(target.port, request.param) as made:
        yield made


def fields_of(answer, without=frozenset()):
    return sorted((name.lower(), value) for name, value in answer.fields.pairs
                  if name.lower() not in NOT_COMPARED | without and not name.startswith(":"))


# ---- HEAD ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("path,fields,status", [
    ("/hundred.txt", [], 200),
    ("/nothing.txt", [], 200),
    ("/", [("If-None-Match", "*")], 304),
    ("/", [("If-Match", '"zz"')], 412),
    ("/none", [], 404),
    ("/sub", [], 301),
    ("/page.css", [], 200),
    ("/page.css", [("Accept-Encoding", "gzip")], 200),
    ("/page.css", [("Accept-Encoding", "br")], 200),
    ("/page.css", [("Accept-Encoding", "gzip"), ("If-None-Match", "*")], 304),
    ("/method", [], 200)],
    ids=lambda value: " ".join(map(" ".join, value)) if isinstance(value, list) else str(value))
def test_head_is_get_without_its_content(asker, path, fields, status):
    whole = asker.ask(path, fields)
    head = asker.ask(path, fields, "HEAD")
    assert (whole.status, head.status, head.body) == (status, status, b"")
    without = {"content-length"} if path == "/method" else frozenset()  # it answers its own name
    assert fields_of(head, without) == fields_of(whole, without)


def test_head_of_a_range_is_head_of_the_whole(asker):
    part = asker.ask("/hundred.txt", [("Range", "bytes=0-9")])
    whole = asker.ask("/hundred.txt")
    head = asker.ask("/hundred.txt", [("Range", "bytes=0-9")], "HEAD")
    assert (part.status, head.status) == (206, 200)
    assert fields_of(head) == fields_of(whole)


# ---- 304 and 206 ---------------------------------------------------------------------------------

def described(asker, fields, status):
    whole = asker.ask("/described")
    other = asker.ask("/described", fields)
    assert (whole.status, other.status) == (200, status)
    return whole, other


def test_304_has_what_the_200_says_of_caching(asker):
    whole, fresh = described(asker, [("If-None-Match", "*")], 304)
    for name in ("ETag", "Cache-Control", "Expires", "Content-Location", "Vary"):
        assert fresh.fields.get(name) == whole.fields.get(name) is not None, name
    assert "Date" in fresh.fields and fresh.body == b""
    assert not OF_CONTENT & {name.lower() for name, _ in fresh.fields.pairs}


def test_304_of_a_coding_has_its_tag_and_no_octets(asker):
    gzip = [("Accept-Encoding", "gzip")]
    whole = asker.ask("/page.css", gzip)
    fresh = asker.ask("/page.css", gzip + [("If-None-Match", whole.fields.get("ETag"))])
    assert (whole.status, fresh.status, fresh.body) == (200, 304, b"")
    assert fresh.fields.get("ETag") == whole.fields.get("ETag")
    assert fresh.fields.get("Vary") == "Accept-Encoding"
    plain = asker.ask("/page.css", [("If-None-Match", whole.fields.get("ETag"))])
    assert (plain.status, plain.body) == (200, b"plain style")


def test_each_coding_has_a_tag_of_its_own(asker):
    tags = {asker.ask("/page.css", [("Accept-Encoding", coding)]).fields.get("ETag")
            for coding in ("identity", "gzip", "br", "zstd")}
    assert len(tags) == 4 and all(re.fullmatch('"[!#-~]+"', tag) for tag in tags)


def test_206_has_what_the_200_has(asker):
    whole, part = described(asker, [("Range", "bytes=0-4")], 206)
    of_part = {"content-length", "content-range"}
    assert fields_of(part, of_part) == fields_of(whole, of_part)
    assert part.body == whole.body[:5]
    assert part.fields.get("Content-Range") == "bytes 0-4/14"
    assert part.fields.get("Content-Length") == "5"


def parts_of(answer):
    """The parts of multipart/byteranges, read by Python's own reader of mail."""
    head = f"Content-Type: {answer.fields.get('Content-Type')}\r\n\r\n".encode()
    message = email.message_from_bytes(head + answer.body)
    assert message.is_multipart() and not message.defects
    return message.get_payload()


def test_several_ranges_are_parts_with_their_types_and_places(asker):
    answer = asker.ask("/hundred.txt", [("Range", "bytes=0-9,-5,50-50")])
    assert answer.status == 206 and "Content-Range" not in answer.fields
    assert answer.fields.get("Content-Length") == str(len(answer.body))
    parts = [(part["Content-Type"], part["Content-Range"], part.get_payload())
             for part in parts_of(answer)]
    plain = "text/plain; charset=UTF-8"
    assert parts == [(plain, "bytes 0-9/100", "0123456789"), (plain, "bytes 95-99/100", "56789"),
                     (plain, "bytes 50-50/100", "0")]


def test_a_boundary_is_nowhere_in_the_data_and_never_the_same(asker):
    seen = set()
    for _ in range(20):
        answer = asker.ask("/hundred.txt", [("Range", "bytes=0-0,2-2")])
        boundary = re.fullmatch("multipart/byteranges; boundary=([0-9A-Za-z'()+_,./:=?-]{1,70})",
                                answer.fields.get("Content-Type")).group(1)
        assert boundary.encode() not in HUNDRED
        assert answer.body.count(b"--" + boundary.encode()) == 3
        seen.add(boundary)
    assert len(seen) == 20


def test_vary_is_there_whether_it_is_coded_or_not(asker):
    for coding in ("gzip", "identity", "gzip;q=0", "nonsense"):
        answer = asker.ask("/page.css", [("Accept-Encoding", coding)])
        assert answer.fields.all("Vary") == ["Accept-Encoding"], coding


# ---- the library's own errors --------------------------------------------------------------------

ZEBRA = "Zebra-Quagga"  # nothing that was sent may come back

# What provokes each status, as octets of HTTP/1.
ERRORS = [
    (400, f"GET / HTTP/1.1\r\nHost: x\r\n{ZEBRA} : y\r\n\r\n"),
    (400, f"GET /%{ZEBRA} HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, f"GET /../{ZEBRA} HTTP/1.1\r\nHost: x\r\n\r\n"),
    (400, f"POST /form HTTP/1.1\r\nHost: x\r\nContent-Length: 15\r\n"
          f"Content-Type: application/x-www-form-urlencoded\r\n\r\n{ZEBRA}=%z"),
    (400, f"POST /parts HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n"
          f"Content-Type: multipart/form-data; boundary=\"{ZEBRA}\r\n\r\n{ZEBRA}"),
    (404, f"GET /{ZEBRA} HTTP/1.1\r\nHost: x\r\n\r\n"),
    (405, f"{ZEBRA} / HTTP/1.1\r\nHost: x\r\n\r\n"),
    (411, f"POST /length-required HTTP/1.1\r\nHost: x\r\nX: {ZEBRA}\r\n"
          "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (412, f"GET / HTTP/1.1\r\nHost: x\r\nIf-Match: \"{ZEBRA}\"\r\n\r\n"),
    (413, f"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 6000\r\n\r\n{ZEBRA}"),
    (414, f"GET /{ZEBRA * 800} HTTP/1.1\r\nHost: x\r\n\r\n"),
    (415, f"POST /parts HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n"
          f"Content-Type: text/{ZEBRA}\r\n\r\n{ZEBRA}"),
    (416, f"GET /hundred.txt HTTP/1.1\r\nHost: x\r\nX: {ZEBRA}\r\nRange: bytes=100-\r\n\r\n"),
    (417, f"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nExpect: {ZEBRA}\r\n\r\n"),
    (431, f"GET / HTTP/1.1\r\nHost: x\r\nX: {ZEBRA * 3000}\r\n\r\n"),
    (500, f"GET /crash?{ZEBRA} HTTP/1.1\r\nHost: x\r\n\r\n"),
    (501, f"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: {ZEBRA}\r\n\r\n"),
    (505, f"GET /{ZEBRA} HTTP/2.7\r\nHost: x\r\n\r\n"),
]


def check_error(answer, status):
    assert answer.status == status
    assert re.match("text/plain", answer.fields.get("Content-Type"))
    assert answer.fields.get("Content-Length") == str(len(answer.body))
    assert "Date" in answer.fields and answer.body.startswith(b"%d " % status)
    everything = answer.body.decode() + repr(answer.fields)
    assert ZEBRA.lower() not in everything.lower()
    assert not re.search(r"rivulet.?\d", everything)


@pytest.mark.parametrize("status,octets", ERRORS, ids=lambda what: what if isinstance(what, int) else "")
def test_an_error_has_a_type_a_length_and_a_date_and_repeats_nothing(target, status, octets):
    check_error(ask_once(target.port, octets.encode("latin-1")), status)


def test_so_has_408(servers):
    server = servers.wire(head_timeout_ms=400)
    check_error(ask_once(server.port, f"GET / HTTP/1.1\r\nHost: x\r\n{ZEBRA}: ".encode()), 408)


def test_so_has_503(target):
    with Client(target.port) as first, Client(target.port) as second:
        first.send(get("/pool?ms=700"))
        second.send(get("/pool?ms=700"))
        for _ in range(50):
            answer = ask_once(target.port, get(f"/pool?{ZEBRA}"))
            if answer.status == 503:
                break
        check_error(answer, 503)
        assert [first.answer().status, second.answer().status] == [200, 200]


@pytest.mark.parametrize("status,path,fields", [
    (400, f"/%{ZEBRA}", []), (404, f"/{ZEBRA}", []), (412, "/", [("If-Match", f'"{ZEBRA}"')]),
    (414, "/" + ZEBRA * 800, []), (416, "/hundred.txt", [("Range", "bytes=100-"), ("X", ZEBRA)]),
    (431, "/", [("X", ZEBRA)] * 150), (500, f"/crash?{ZEBRA}", [])])
def test_the_same_in_http2(target, status, path, fields):
    check_error(ask(target.port, "http2", path, fields), status)
