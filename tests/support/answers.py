"""Reads what a server has sent: octets to responses, strictly (RFC 9112 sections 4 to 7).

A test's reader, made to find faults: anything that is not as the standard has it raises Fault. A
response that is merely cut short is no fault; it is marked as not whole.
"""

import dataclasses
import re

TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
DATE = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
ONCE = ("date", "server", "content-length", "content-type", "connection", "transfer-encoding",
        "content-range", "last-modified", "etag")


class Fault(AssertionError):
    """The server has sent something that the standard does not allow."""


class Short(Exception):
    """More octets are needed."""


class Fields:
    """The fields of a head or a trailer section, in order."""

    def __init__(self):
        self.pairs = []

    def add(self, name, value):
        self.pairs.append((name, value))

    def all(self, name):
        return [value for key, value in self.pairs if key.lower() == name.lower()]

    def get(self, name, default=None):
        return next(iter(self.all(name)), default)

    def __contains__(self, name):
        return bool(self.all(name))

    def __repr__(self):
        return repr(self.pairs)


@dataclasses.dataclass
class Answer:
    line: str = ""
    status: int = 0
    fields: Fields = dataclasses.field(default_factory=Fields)
    trailers: Fields = dataclasses.field(default_factory=Fields)
    body: bytes = b""
    whole: bool = False

    @property
    def says_close(self):
        return "close" in (self.fields.get("Connection") or "").lower()


class Reader:
    """Takes responses from the front of `octets`; `left` is what it has not used."""

    def __init__(self, octets, closed=False):
        self.left = octets
        self.closed = closed

    def take(self, length):
        taken, self.left = self.left[:length], self.left[length:]
        return taken

    def line(self):
        end = self.left.find(b"\n")
        if end < 0:
            raise Short
        line = self.take(end + 1)
        if not line.endswith(b"\r\n"):
            raise Fault(f"a line ends with a bare LF: {line!r}")
        line = line[:-2]
        if b"\r" in line or b"\0" in line:
            raise Fault(f"a line holds CR or NUL: {line!r}")
        return line

    def fields(self, fields):
        while line := self.line():
            name, colon, value = line.partition(b":")
            if not colon or not TOKEN.fullmatch(name):
                raise Fault(f"no field line: {line!r}")
            fields.add(name.decode(), value.strip(b" \t").decode("latin-1"))

    def head(self, answer):
        line = self.line()
        if not re.match(rb"HTTP/1\.1 \d{3} ", line):
            raise Fault(f"no status line: {line!r}")
        answer.line = line.decode("latin-1")
        answer.status = int(line[9:12])
        self.fields(answer.fields)

    def run(self, answer, length):
        answer.body += self.take(length)
        if len(answer.body) < length:
            raise Short

    def chunks(self, answer):
        while True:
            line = self.line()
            if not re.fullmatch(rb"[0-9a-fA-F]{1,8}", line):
                raise Fault(f"no chunk size: {line!r}")
            size = int(line, 16)
            if size == 0:
                return self.fields(answer.trailers)
            data = self.take(size)
            answer.body += data
            if len(data) < size:
                raise Short
            if self.line():
                raise Fault("no CRLF behind a chunk")

    def content(self, answer, to_head):
        length = answer.fields.get("Content-Length")
        coding = answer.fields.get("Transfer-Encoding")
        if length is not None and coding is not None:
            raise Fault("both Content-Length and Transfer-Encoding")
        if length is not None and not re.fullmatch(r"\d{1,15}", length):
            raise Fault(f"Content-Length is no number: {length}")
        if to_head or answer.status < 200 or answer.status in (204, 304):
            return
        if coding is not None:
            if coding.lower() != "chunked":
                raise Fault(f"an unknown transfer coding: {coding}")
            self.chunks(answer)
        elif length is not None:
            self.run(answer, int(length))
        else:
            answer.body += self.take(len(self.left))
            if not self.closed:
                raise Short

    def answer(self, to_head=False):
        answer = Answer()
        try:
            self.head(answer)
            self.content(answer, to_head)
            answer.whole = True
        except Short:
            pass
        return answer


def parse(octets, closed, heads=()):
    """All responses: the final ones, and how many interim ones were among them."""
    reader, finals, interim = Reader(octets, closed), [], 0
    while reader.left:
        answer = reader.answer(len(finals) in heads)
        if 100 <= answer.status < 200:
            interim += 1
        else:
            finals.append(answer)
        if not answer.whole:
            break
    return finals, interim


def summary(answers, closed):
    """Like "200,404k", "-c", "200!c"."""
    statuses = ",".join(f"{a.status}{'' if a.whole else '!'}" for a in answers)
    return (statuses or "-") + ("c" if closed else "k")


def check(answers, closed, may_just_close=False):
    """What holds of every response; raises Fault."""
    for number, answer in enumerate(answers):
        if not answer.whole and not answer.fields.pairs:
            continue
        check_fields(answer)
        last = number + 1 == len(answers)
        if answer.says_close and not (last and closed):
            raise Fault("a response says close, but the connection goes on")
        if last and closed and answer.whole and not answer.says_close and not may_just_close:
            raise Fault("the connection closes, but the response does not say so")


def check_fields(answer):
    for name in ONCE:
        if len(answer.fields.all(name)) > 1:
            raise Fault(f"{name} comes twice: {answer.fields}")
    if not DATE.fullmatch(answer.fields.get("Date", "")):
        raise Fault(f"no Date, or not an IMF-fixdate: {answer.fields}")
    if answer.fields.get("Server") != "rivulet":
        raise Fault(f"no Server field, or another: {answer.fields}")
    if answer.status == 204 and ("Content-Length" in answer.fields
                                 or "Transfer-Encoding" in answer.fields):
        raise Fault("a 204 with a length (RFC 9110 section 8.6)")
    if answer.status == 405 and "Allow" not in answer.fields:
        raise Fault("a 405 without Allow (RFC 9110 section 15.5.6)")
    if answer.status >= 400 and answer.body and "Content-Type" not in answer.fields:
        raise Fault("an error page without Content-Type")
