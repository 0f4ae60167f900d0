#!/usr/bin/env python3
"""Writes the seed corpora of fuzz_conn, fuzz_split, fuzz_pool, fuzz_tls and fuzz_h2: tests/fuzz/make_corpus.py

Some of each file of wire cases, with the paths of the fuzzed server's handlers (support/app.h) in the
place of the wire app's, and the scripts below, which use what cases cannot say: several clients, time,
windows, suspended talks. Files whose names begin with "script-" or "case-" are replaced; others were found
by fuzzing and are left alone.
"""

import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parent / "wire" / "cases"
SMALL = 600  # octets: a seed that is larger slows everything down that is made from it
CASES_OF_A_FILE = {"fuzz_conn": 2, "fuzz_split": 5}

# What a wire case asks for -> what is nearest to it in the fuzzed server.
PATHS = {
    "": "file", "index.html": "file", "echo": "body", "echo-stream": "echo", "noread": "unread",
    "length-required": "sized", "request-trailer": "trailer", "method": "cookies",
    "host": "param/x/y", "peer": "cookies", "field": "cookies", "counters": "whole",
    "header": "fields", "set-cookies": "cookies", "204": "problem?status=204",
    "304": "problem?status=304", "stream-length": "stream?length=100",
    "trailers": "stream?trailer=1", "too-long": "stream?length=90",
    "too-long-at-once": "stream?length=75&k=30", "too-short": "stream?length=110",
    "crash": "nothing", "crash-mid": "stream?fail=10", "big": "whole", "slow": "later",
    "pool": "whole", "deferred": "suspend", "segment": "param", "rest": "param/x",
}


def with_our_paths(octets):
    def replace(match):
        return match.group(1) + PATHS.get(match.group(2).decode(), match.group(2).decode()).encode()
    return re.sub(rb"(?m)(^[A-Z]+ (?:http://[^/ ]+)?/)([a-z0-9.-]*)(?=[ ?/])", replace, octets)


def octets_of(segment):
    parts = segment if isinstance(segment, list) else [segment]
    octets = b""
    for part in parts:
        if isinstance(part, str):
            octets += part.encode("latin-1")
        else:
            text = part["repeat"].encode("latin-1")
            octets += b"".join(text.replace(b"#", b"%d" % i) for i in range(part["times"]))
    return octets


def cases(count):
    """Up to `count` small cases of each file, spread evenly: (id, segments, half-closes)."""
    for path in sorted(CASES.glob("*.json")):
        small = [case for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
                 if sum(len(octets_of(segment)) for segment in case["send"]) <= SMALL]
        for case in small[::max(1, len(small) // count)][:count]:
            segments = [with_our_paths(octets_of(segment)) for segment in case["send"]]
            yield case["id"], segments, case.get("half_close", False)


def op(letter, number=None):
    """An operation of fuzz_conn.c."""
    return b"\xff" + letter.encode() + (b"" if number is None else bytes([number]))


def get(target, version="1.1", fields=""):
    return f"GET {target} HTTP/{version}\r\nHost: x\r\n{fields}\r\n".encode()


def post(target, body, fields=""):
    return (f"POST {target} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
            f"{body}").encode()


def chunked(target, *chunks, end="0\r\n\r\n"):
    body = "".join(f"{len(chunk):x}\r\n{chunk}\r\n" for chunk in chunks)
    return (f"POST {target} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            f"{body}{end}").encode()


def part(name, content, filename=None):
    file = "" if filename is None else f'; filename="{filename}"'
    return f'--x\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n{content}\r\n'


FORM_TYPE = "Content-Type: multipart/form-data; boundary=x\r\n"
FORM = part("a", "one") + part("f", "\r\ntwo\r\n", "n") + part("g", "", "") + "--x--"


def post_form(target, body=FORM):
    return post(target, body, FORM_TYPE)


def halves(octets):
    return octets[:-40] + op("s") + octets[-40:] + op("s")


SECONDS_8 = op("t", 0xf9)  # magnitude() of fuzz_conn.c: 15 << 9, and one more
MINUTES_4 = op("t", 0xff)
ALL = op("w", 255)

GZIP = "Accept-Encoding: gzip\r\n"

SCRIPTS = {
    "answer-in-every-way": b"".join(get("/suspend") + op("s") + op("a", way) + op("t", 0x14)
                                    for way in (0, 1, 2, 4, 5, 6, 7, 3)),
    "back-pressure": op("w", 0x18) + get("/big-file") + op("s") + op("w", 0xc8) + ALL,
    "body-asked-late": chunked("/suspend-body", "abc", "defg", end="") + op("a", 6)
    + b"0\r\nX-T: 1\r\n\r\n",
    "borrowed": op("w", 0) + get("/borrowed") + op("s") + op("w", 0x8f) + op("r"),
    "broken-after-answer": post("/broken?answer=1", "abcdef") + op("s"),
    "broken-body": chunked("/broken?n=5", "abc", "def") + op("s"),
    "compressed": b"".join(get("/" + name, fields=GZIP) for name in (
        "whole?n=70000", "borrowed", "stream?n=9000&k=700&trailer=1", "ticks?n=50", "big-file",
        "stream?n=40000&k=17000&borrow=1", "stream?length=100", "begin", "file", "problem",
        "stream?n=300&length=110"))
    + op("s") + op("t", 0x28),
    "compressed-echo": halves(post("/echo", "e" * 900, fields=GZIP)) + op("s")
    + b"HEAD /whole?n=900 HTTP/1.1\r\nHost: x\r\n" + GZIP.encode() + b"\r\n" + op("s")
    + b"GET /stream?n=9000 HTTP/1.0\r\n" + GZIP.encode() + b"\r\n" + op("s"),
    "compressed-memory": b"".join(op("m", n) + get(target, fields=GZIP) + op("s") + op("n")
                                  for n in range(0, 24, 2)
                                  for target in ("/whole?n=9000", "/stream?n=9000")),
    "compressed-reset": op("w", 0x10) + get("/stream?n=70000&k=9000", fields=GZIP) + op("s")
    + op("w", 0x40) + op("r"),
    "continue": b"POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    + op("s") + b"abc" + op("s"),
    "drip": post("/echo", "hello") + chunked("/body", "a", "bc") + op("d"),
    "early": post("/early", "a" * 20)[:-10] + op("s") + b"b" * 10 + get("/whole"),
    "echo-back-pressure": op("w", 0x48) + post("/echo", "e" * 90) + op("x", 120) + ALL,
    "fields-large": get("/fields?n=18") + op("s"),
    "four-clients": b"".join(op("c", n) + get("/suspend?n=%d" % n) for n in range(4))
    + op("a", 0x10) + op("c", 1) + get("/wake") + op("a", 0) + op("t", 0x28),
    "handlers-for-bodies": b"".join(chunked("/" + name, "abc", "d") for name in (
        "body", "echo", "unread", "early", "pause", "broken?n=2", "later", "trailer"))
    + chunked("/trailer", "e", end="0\r\nX-T: 1\r\n\r\n") + op("s") + op("t", 0x28),
    "handlers-streamed": b"".join(get("/" + name) for name in (
        "stream?trailer=1", "stream?length=100", "stream?n=40000&k=17000&borrow=1", "begin",
        "begin-fail", "ticks", "stream?n=40000&k=17000&borrow=1&length=100", "stream?fail=9"))
    + op("s") + op("t", 0x28),
    "handlers-whole": b"".join(get("/" + name) for name in (
        "twice", "nothing", "redirect?to=%3Ca%26%3E", "problem?status=404", "cookies",
        "param/a/b%20c/d", "no-file", "file", "fields?n=1&own=1", "whole?n=70000", "whole?n=0"))
    + b"HEAD /big-file HTTP/1.1\r\nHost: x\r\n\r\n" + op("s"),
    "memory": b"".join(op("m", n) + get("/cookies") + op("s") for n in (1, 3, 5))
    + op("w", 5) + op("m", 1) + get("/stream?n=9000") + op("m", 0) + get("/suspend") + op("s")
    + op("m", 1) + op("a", 2) + ALL,
    "no-handler": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\nOPTIONS /body HTTP/1.1\r\nHost: x\r\n\r\n"
    + b"DELETE /whole HTTP/1.1\r\nHost: x\r\n\r\n" + get("/x") + get("http://x") + get("/%00")
    + get("/whole", fields="Expect: x\r\n") + chunked("/sized", "abc")
    + b"CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n" + op("s"),
    "form": halves(post_form("/form")) + post_form("/form", part("a", "b")) + post("/form", "a=b") + op("s"),
    "form-drip": post_form("/parts?do=..p.p") + op("d") + op("t", 0x18),
    "form-limits": post_form("/form", part("a", "") * 9 + "--x--") + op("s") + op("n")
    + post_form("/form", part("a", "z" * 3001) + "--x--") + op("s"),
    "form-paused": b"".join(halves(post_form("/parts?do=" + program)) + op("t", 0x16) for program in (
        "p", "pppppppp", ".p.p.p.p", "........p", "w.wp.w")),
    "form-refused": b"".join(halves(post_form("/parts?do=" + program)) + op("n") for program in (
        "i", ".e", "..l", "x", ".w.x", "........i", "w.i")),
    "form-suspended": halves(post_form("/parts?do=s.s")) + (op("a", 0) + op("s")) * 2
    + halves(post_form("/parts?do=..S")) + op("a", 0) + halves(post_form("/parts?do=.s")) + op("a", 3)
    + op("n") + halves(post_form("/parts?do=s")) + op("r") + op("a", 0),
    "form-answered": b"".join(halves(post_form("/parts?do=" + program)) + op("n") for program in (
        "a", ".A", "..b", "...A", "........A", "wa", "w.b", "o.o")),
    "form-to-disk": halves(post_form("/to-disk")) + post_form("/to-disk?max=3") + op("s") + op("n")
    + halves(post_form("/to-disk"))[:-60] + op("r") + op("n") + post_form("/to-disk")[:-5] + op("h"),
    "form-to-disk-memory": b"".join(op("m", n) + post_form("/to-disk?x") + op("s") + op("n")
                                    for n in range(1, 16, 2)),
    "to-file": halves(post("/to-file/it", "a" * 60)) + post("/to-file/it", "b") + post("/to-file/it?x", "c")
    + chunked("/to-file/a%2fb", "a") + chunked("/to-file/a?max=3", "ab", "cd") + op("s") + op("n")
    + get("/to-file/none") + post("/to-file/x", "a", "Content-Range: bytes 0-1/2\r\n") + op("s"),
    "to-file-conditions": post("/to-file/it", "a", "If-None-Match: *\r\n")
    + post("/to-file/it?x", "b", "If-None-Match: *\r\n") + post("/to-file/it?x", "c", "If-Match: *\r\n")
    + post("/to-file/no", "d", "If-Match: *\r\n") + halves(post("/to-file/new?x", "e" * 60, "If-None-Match: *\r\n"))
    + op("s") + post("/to-file/two?x", "e" * 60, "If-None-Match: *\r\n")[:-9] + op("c", 1)
    + post("/to-file/two", "f") + op("c", 0) + b"e" * 9 + op("s"),
    "to-file-large": b"PUT /to-file/large HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n"
    + op("s") + 5 * (b"z" * 100 + op("x", 200)) * 3,
    "half-close-in-body": post("/echo", "abcdefgh")[:-4] + op("h"),
    "half-close-while-suspended": get("/suspend") + get("/whole") + op("h") + op("a", 0),
    "idle": get("/whole") + op("s") + MINUTES_4,
    "kept-body": post("/suspend/a-name", "kept" * 5) + op("s") + post("/later", "later") + op("c", 1)
    + post("/body", "other" * 30) + op("a", 0) + op("t", 0x14),
    "later": get("/later?ms=900") + get("/ticks?n=90&ms=40") + op("s") + SECONDS_8,
    "old-stream": get("/stream?n=99", "1.0", "Connection: keep-alive\r\n") + op("s"),
    "pause": chunked("/pause", "abc", "def", "g") + op("s") + op("t", 0x15),
    "page-full": get("/whole?n=15000") + op("x", 9),
    "pipeline-80": get("/whole?n=0") + op("x", 80),
    "quit-in-the-middle": op("w", 3) + get("/stream?n=9000&borrow=1") + op("s") + op("q"),
    "reset-while-pending": get("/later") + op("s") + op("r") + SECONDS_8,
    "resume-for-the-gone": get("/suspend") + op("n") + op("a", 0) + op("a", 1),
    "shrink": op("w", 0x88) + get("/big-file") + op("c", 1) + get("/shrink") + op("c", 0) + ALL,
    "steady-body": b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 18000\r\n\r\n" + op("s")
    + 2 * (b"z" * 100 + op("x", 60) + op("t", 0x9a)) + b"z" * 100 + op("x", 60),
    "slow-body": post("/body", "abc")[:-1] + op("s") + SECONDS_8,
    "slow-head": b"GET / HT" + op("s") + SECONDS_8 + MINUTES_4,
    "stall": op("w", 0x88) + get("/big-file") + op("s") + MINUTES_4,
    "stop": get("/later") + op("c", 1) + get("/whole") + op("S") + op("t", 0x88),
    "stop-while-streaming": get("/ticks") + op("s") + op("S") + op("t", 0x13),
    "too-much": b"".join([post("/body", "z" * 90), op("x", 60)])
    + b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n",
    "unread": post("/unread", "x" * 60) + get("/twice") + op("s"),
    "verbs": b"".join(get("/verbs?do=" + program) for program in (
        "r", "Rr", "bwe", "bw", "blwwwe", "lbwww", "lbwe", "nwe", "bda.we", "bs.w", "a.d.r", "ra.",
        "btwoOe", "bWWWWd.W", "hcP", "f", "bwf", "s.a.bd.we", "", "b", "be", "lb", "lr", "tbe"))
    + op("s") + op("a", 0) + op("a", 0) + op("t", 0x18),
    "verbs-body": b"".join(chunked("/verbs-body?do=" + program, "abc", "d") for program in (
        "B.", "B.bw.e", "B.r", "rB", "Ba.u.r", "bB.w.", "B.f", "Bs.bd.we"))
    + get("/verbs-body?do=B.r") + op("s") + op("a", 0) + op("t", 0x18),
}


def pool(*programs):
    return b"".join(get("/verbs?do=" + program) for program in programs) + op("s")


# Of fuzz_pool.c; programs are those of support/pool_app.h.
POOL_SCRIPTS = {
    "body": post("/body", "abc") + chunked("/body", "abc", "d") + op("s"),
    "gone-at-the-gate": pool("-r") + op("r") + op("g", 0),
    "gone-between-pieces": pool("b-w-w-e") + op("g", 0) + op("r") + op("g", 0) + op("g", 0),
    "gone-while-it-waits-for-room": op("w", 0) + pool("boooooe") + op("r"),
    "half-close": pool("-bw-e") + op("h") + op("g", 0) + op("g", 0),
    "misuse": pool("rr", "be", "bwr", "e", "bwbe", "", "b", "rw", "ghctr"),
    "one-after-the-other": pool("r", "R", "bwe", "nwe", "bow", "bwte", "f", "bwf", "lbwwwe"),
    "queue-full": b"".join(op("c", n) + pool("-r") for n in range(5)) + op("g", 1) + op("g", 0)
    + op("g", 0),
    "resumed": pool("s.", "bws.", "s-.", "ss.", "rs.", "s", "bs-f", "sr") + op("g", 0) + op("g", 0),
    "room": op("w", 0x88) + pool("boowWe") + op("w", 0xc8) + op("w", 255),
    "stalls": op("w", 0x38) + pool("bWWWW-e") + op("t", 0xff) + op("g", 0),
    "to-disk": post_form("/to-disk") + chunked("/to-file/it", "abc", "d") + op("s"),
    "to-disk-behind-gates": op("c", 1) + pool("-r") + op("c", 2) + pool("-r") + op("c", 0)
    + post_form("/to-disk") + op("s") + op("c", 3) + post("/to-file/it", "abc") + op("s") + op("g", 0)
    + op("g", 0),
    "to-disk-gone-behind-gates": b"".join(
        op("c", 1) + pool("-r") + op("c", 2) + pool("-r") + op("c", 0) + post_form("/to-disk")[:-cut]
        + op("s") + op("r") + op("g", 0) + op("n") + op("g", 0) for cut in (50, 20))
    + op("c", 1) + pool("-r") + op("c", 2) + pool("-r") + op("c", 0) + post("/to-file/it", "abc") + op("s")
    + op("g", 0) + op("r") + op("g", 0),
    "too-little-too-much": pool("lbwe", "lbwwwwe", "lbW", "lr", "lbw-e") + op("g", 0),
}


# Of fuzz_tls.c: the first octet chooses the client, the others are its operations.
SHAKEN = b"CCC"
TLS_SCRIPTS = {
    "1.2": b"\x01" + SHAKEN + b"gCP\x10Cg" + b"c" * 4,
    "1.3": b"\x00" + SHAKEN + b"gCP\x10Cg" + b"c" * 4,
    "back-pressure": b"\x00" + SHAKEN + b"w\x00gggCw\x10w\xff",
    "behind-a-reset": b"\x00CrCnCgC",
    "changed": b"\x00" + SHAKEN + b"gf\x20\x01C",
    "changed-hello": b"\x00f\x30\x01C",
    "drip": b"\x00ddddgddP\x04dd",
    "goodbye": b"\x00" + SHAKEN + b"gCbCh",
    "half-close": b"\x01" + SHAKEN + b"P\x20p\x60h",
    "in-pieces": b"\x00p\x10p\xffp\xff" + b"Cp\x05CgP\x08p\x50p\x03C",
    "keys": b"\x00" + SHAKEN + b"kCgCkgCC",
    "length": b"\x00" + SHAKEN + b"gl\x07C",
    "memory": b"\x00" + b"".join(b"m" + bytes([n]) + b"CCgm" + bytes([n]) + b"CgCn"
                                  for n in range(8)),
    "no-alpn-no-tickets": b"\x06" + SHAKEN + b"gC",
    "none-1.2": b"\x07" + SHAKEN + b"gC",
    "other-octets": b"\x00" + SHAKEN + b"i\x05\x17\x03\x03\x41\x01",
    "paused": b"\x00" + SHAKEN + b"w\x00" + b"g" * 14 + b"Cg" + b"Cw\xff",
    "plain": b"\x00i\x12GET / HTTP/1.1\r\n\r\n",
    "renegotiation": b"\x01" + SHAKEN + b"kCgC",
    "repeated": b"\x00" + SHAKEN + b"g2C",
    "resumed": b"\x00" + SHAKEN + b"gCnCCgCnCCgC",
    "resumed-1.2": b"\x01" + SHAKEN + b"gCnCCgC",
    "silent": b"\x00ct\x50t\x50",
    "swapped": b"\x00" + SHAKEN + b"goC",
    "truncated": b"\x00" + SHAKEN + b"gp\x20h",
    "without": b"\x00" + SHAKEN + b"ggxC",
}


# Of fuzz_h2.c: operations. The bits of HEADERS, and places in its list of targets.
END, OPEN, POST, HEAD, LENGTH, EXPECT = 1, 2, 4, 8, 16, 32
BIG, SLOW, BODY, TRAILER, ECHO, PAUSE, SUSPEND, PARTS = 1, 12, 13, 15, 16, 18, 23, 25
TARGET_COUNT = 44


def ask(stream, target, bits=END):
    return b"H" + bytes([stream, target, bits])


def data(stream, last, magnitude):
    return b"D" + bytes([stream, int(last), magnitude])


FORM_TARGETS, FORM_PIECES = 22, 17
FIELD, FILE, CONTENT, CRLF, LAST, REST, WHOLE = 2, 3, 4, 5, 10, 12, 13


def form(stream, target, *pieces, last=True):
    return b"F" + bytes([stream, target, POST]) + b"".join(
        b"B" + bytes([stream, int(last and place == len(pieces) - 1), piece])
        for place, piece in enumerate(pieces))


H2_SCRIPTS = {
    "all-targets": b"".join(ask(n % 32, n) + b"!n" * (n == 31) for n in range(TARGET_COUNT)),
    "body": ask(0, BODY, POST) + data(0, False, 0x1f) + b"!" + data(0, True, 0x25) + b"!",
    "continuation": ask(0, 0, END | OPEN) + b"C\0\0C\0\4!",
    "echo": ask(0, ECHO, POST) + data(0, False, 0x9f) + b"!" + data(0, True, 0x85)
    + b"!W\xff\xa8W\0\xa8!",
    "empty": ask(0, BODY, POST) + data(0, False, 0) * 20 + b"!",
    "expect": ask(0, BODY, POST | LENGTH | EXPECT) + b"!" + data(0, True, 0x64) + b"!",
    "forms": b"".join(form(n % 32, n, FILE, CONTENT, CRLF, FIELD, CONTENT, REST) + b"!t\4a\0"
                      for n in range(FORM_TARGETS)),
    "form-pieces": form(0, 0, *range(FORM_PIECES)) + b"!" + form(1, 0, FIELD, 6, 7, 8, 9) + b"!"
    + form(2, 0, 14, 15, 16, CONTENT, CRLF, LAST) + b"!",
    "form-twice": b"".join(form(stream, 16, WHOLE) + b"!" for stream in range(3)),
    "form-reset": form(0, 14, FILE, CONTENT, last=False) + b"!R\0\x08!" + form(1, 3, FILE, CONTENT, last=False)
    + b"!R\1\x08!a\0" + form(2, 2, WHOLE) + b"!r",
    "goaway": ask(0, SLOW) + b"g\0!t\x50",
    "half-close": ask(0, BIG) + ask(1, BODY, POST) + b"!h!t\x50",
    "head": ask(0, BIG, END | HEAD) + ask(1, SLOW, END | HEAD) + b"!t\x40",
    "late": ask(0, BODY, POST) + data(0, False, 1) + b"!t\xff" + ask(1, 0, END | OPEN) + b"!t\xff",
    "memory": b"".join(b"m" + bytes([n]) + ask(n, BIG) + ask(n + 1, ECHO, POST)
                        + data(n + 1, True, 0x6f) + b"!" for n in range(0, 16, 2)),
    "narrow": b"w\x30" + ask(0, BIG) + b"!t\x40w\xff!",
    "pause": ask(0, PAUSE, POST) + (data(0, False, 0x5f) + b"!t\2") * 2 + data(0, True, 0) + b"!t\5",
    "pieces": ask(0, ECHO, POST) + data(0, True, 0x4f) + b"b\0",
    "priority": b"P\0\1P\2\2!p\0p\1!",
    "quit": ask(0, BIG) + ask(1, ECHO, POST) + data(1, False, 0x2f) + b"!q",
    "raw": b"x\5hello!ny\x04\x0a\0\xff0123456789!",
    "reset": ask(0, BIG) + b"!R\0\x08!" + ask(1, PARTS, POST) + data(1, False, 0x6f) + b"!R\1\x08!",
    "stop": ask(0, SLOW) + b"!Zp\1!t\x50t\x50",
    "suspended": ask(0, SUSPEND) + ask(1, SUSPEND + 1) + b"!a\0a\2!",
    "trailers": ask(0, TRAILER, POST) + data(0, False, 0x0f) + b"T\0\5!",
    "two-clients": ask(0, SUSPEND) + b"!c\1" + ask(0, BIG) + b"!c\0a\0",
    "windows": b"S\4\x21!" + ask(0, BIG) + b"!W\0\x6f!W\xff\x8f!W\0\xb4W\xff\xb4!",
}


def replace_all(target, files):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        if old.name.startswith(("script-", "case-")):
            old.unlink()
    for name, octets in files.items():
        (folder / name).write_bytes(octets)
    print(f"{folder.relative_to(HERE.parent.parent)}: {len(files)} seeds")


def main():
    conn = {f"script-{name}": octets for name, octets in SCRIPTS.items()}
    for name, segments, half_closes in cases(CASES_OF_A_FILE["fuzz_conn"]):
        conn[f"case-{name}"] = op("s").join(segments) + (op("h") if half_closes else b"")
    replace_all("fuzz_conn", conn)

    # How many lengths of pieces, the lengths, and the octets (fuzz_split.c).
    split = {f"case-{name}": b"\x02\x03\x11" + b"".join(segments)
             for name, segments, _ in cases(CASES_OF_A_FILE["fuzz_split"])}
    for name in ("body-asked-late", "broken-body", "early", "form", "handlers-for-bodies",
                 "handlers-streamed", "handlers-whole", "no-handler", "pause", "to-file"):
        split[f"script-{name}"] = b"\x01\x07" + re.sub(rb"\xff[actwx].|\xff.", b"", SCRIPTS[name],
                                                       flags=re.DOTALL)
    replace_all("fuzz_split", split)
    replace_all("fuzz_pool", {f"script-{name}": octets for name, octets in POOL_SCRIPTS.items()})
    replace_all("fuzz_tls", {f"script-{name}": octets for name, octets in TLS_SCRIPTS.items()})
    replace_all("fuzz_h2", {f"script-{name}": octets for name, octets in H2_SCRIPTS.items()})


if __name__ == "__main__":
    main()
