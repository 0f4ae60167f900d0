"""The HTTP/2 dialect of the wire cases: from what a case sends to octets (tests/wire/README.md)."""

import dataclasses
import re

import hpack

from support import h2_frames as h2

KEYS = {"id", "source", "note", "start", "settings", "heads", "ack", "ping", "send", "expect", "also",
        "frames", "everywhere"}
STEP_KEYS = {"fields", "end", "end_headers", "cuts", "pad", "priority", "compressed", "octets",
             "values", "ack", "last", "code", "increment", "on", "weight", "exclusive", "of", "value",
             "payload", "length", "flags", "on_stream", "raw", "await", "times", "steps", "stride"}


@dataclasses.dataclass
class Segment:
    """Octets that go out together, and what then must come before the next segment may."""
    octets: bytes = b""
    awaits: object = None  # a stream that must be over, or how a frame's description begins
    times: int = 1
    grants: list = dataclasses.field(default_factory=list)    # (stream, increment)
    settings: list = dataclasses.field(default_factory=list)  # lists of pairs


# ---- parts ---------------------------------------------------------------------------------------

def octets_of(text):
    """A string, latin-1; {"repeat": TEXT, "times": N}; {"hex": DIGITS}; or a list of these."""
    if isinstance(text, list):
        return b"".join(octets_of(part) for part in text)
    if isinstance(text, str):
        return text.encode("latin-1")
    if "hex" in text:
        return bytes.fromhex(text["hex"])
    return text["repeat"].encode("latin-1") * text.get("times", 1)


def request_fields(text):
    """"GET /path" or "GET https://host/path" as pseudo-fields."""
    method, target = text.split(" ", 1)
    scheme, authority, path = re.fullmatch(r"(?:(\w+)://([^/]*))?(.*)", target).groups()
    return h2.request(path, method, scheme=scheme or "http", authority=authority or "x")


def field_octets(entry, encoder):
    """One entry of `fields` as octets of HPACK."""
    if isinstance(entry, str):
        if re.match(r"[A-Z]+ ", entry):
            return encoder(request_fields(entry))
        name, value = re.fullmatch(r"(:?[^:]*):(?: (.*))?", entry, re.DOTALL).groups()
        return encoder([(name, value or "")])
    if "hex" in entry:
        return octets_of(entry)
    if "octet" in entry:
        return octets_of(entry["octet"]) * entry["times"]
    if "name" in entry:
        field = octets_of(entry["name"]), octets_of(entry["value"])
        return h2.literal(*field, first=0x40) if entry.get("insert") else encoder([field])
    return b"".join(field_octets(entry["repeat"].replace("#", str(number)), encoder)
                    for number in range(entry["times"]))


class Builder:
    """Steps to segments. It keeps what the steps share: the state of an HPACK encoder."""

    def __init__(self):
        self.hpack = hpack.Encoder()
        self.segments = [Segment()]

    def compressed(self, fields):
        return self.hpack.encode([(h2.octets_of(n), h2.octets_of(v)) for n, v in fields])

    def block(self, step):
        encoder = self.compressed if step.get("compressed") else h2.block
        return b"".join(field_octets(entry, encoder) for entry in step.get("fields", ()))

    # ---- frames, by their names

    def headers(self, stream, step):
        block, cuts = self.block(step), [0, *step.get("cuts", ())]
        pieces = [block[a:b] for a, b in zip(cuts, cuts[1:] + [len(block)])]
        whole = step.get("end_headers", True)
        octets = h2.headers(stream, pieces[0], step.get("end", False), whole and len(pieces) == 1,
                            step.get("pad"), step.get("priority"))
        for number, piece in enumerate(pieces[1:], 2):
            octets += h2.continuation(stream, piece, whole and number == len(pieces))
        return octets

    def continuation(self, stream, step):
        return h2.continuation(stream, self.block(step), step.get("end_headers", True))

    def data(self, stream, step):
        return h2.data(stream, octets_of(step.get("octets", "")), step.get("end", False),
                       step.get("pad"))

    def settings(self, _, step):
        values = step.get("values", {})
        pairs = [(int(key, 16) if key.startswith("0x") else key, value)
                 for key, value in (values.items() if isinstance(values, dict) else values)]
        if not step.get("ack"):
            self.segments[-1].settings.append(pairs)
        return h2.settings(pairs, step.get("ack", False))

    def ping(self, _, step):
        return h2.ping(octets_of(step.get("octets", "rivulet!")), step.get("ack", False))

    def rst_stream(self, stream, step):
        return h2.rst_stream(stream, step.get("code", "CANCEL"))

    def goaway(self, _, step):
        return h2.goaway(step.get("last", 0), step.get("code", "NO_ERROR"),
                         octets_of(step.get("octets", "")))

    def window_update(self, stream, step):
        self.segments[-1].grants.append((stream, step["increment"]))
        return h2.window_update(stream, step["increment"])

    def priority(self, stream, step):
        return h2.priority(stream, step.get("on", 0), step.get("weight", 16),
                           step.get("exclusive", False))

    def priority_update(self, _, step):
        return h2.priority_update(step["of"], step["value"])

    def frame(self, kind, stream, step):
        """A frame that its name builds; or, with `payload`, any octets. Then the lies."""
        build = None if "payload" in step else getattr(self, kind.lower(), None)
        if build is None:
            number = int(kind, 16) if kind.startswith("0x") else kind
            octets = h2.frame(number, stream, octets_of(step.get("payload", "")))
        else:
            octets = build(stream, step)
        head = bytearray(octets[:h2.HEAD_OCTETS])
        if "length" in step:
            head[:3] = step["length"].to_bytes(3, "big")
        if "flags" in step:
            head[4] |= step["flags"]
        head[5:9] = step.get("on_stream", stream).to_bytes(4, "big")
        return bytes(head) + octets[h2.HEAD_OCTETS:]

    # ---- steps

    def step(self, step, shift=0):
        if "await" in step:
            self.segments[-1].awaits = step["await"]
            self.segments[-1].times = step.get("times", 1)
            self.segments.append(Segment())
        elif "steps" in step:
            for number in range(step["times"]):
                for inner in step["steps"]:
                    self.step(inner, shift + number * step.get("stride", 0))
        elif "raw" in step:
            self.segments[-1].octets += octets_of(step["raw"])
        else:
            kind, stream = next(iter(step.items()))
            assert set(step) - {kind} <= STEP_KEYS, f"unknown keys: {step}"
            self.segments[-1].octets += self.frame(kind, stream + shift, step)


def segments_of(case):
    """What a case sends. It begins with the preface and SETTINGS, unless `start` is false."""
    builder = Builder()
    if case.get("start", True):
        builder.step({"raw": h2.PREFACE.decode()})
        builder.step({"SETTINGS": 0, "values": case.get("settings", {})})
    for step in case["send"]:
        builder.step(step)
    return builder.segments


# ---- expectations --------------------------------------------------------------------------------

def expand(text):
    """"1-5=200 open" to "1=200,3=200,5=200 open"."""
    def each(match):
        first, last, what = int(match.group(1)), int(match.group(2)), match.group(3)
        return ",".join(f"{number}={what}" for number in range(first, last + 1, 2))
    return re.sub(r"(\d+)-(\d+)=([^, ]+)", each, text)


def fits(case, actual):
    """Whether a summary is one that the case allows; "*" in one half stands for anything."""
    streams, fate = actual.split(" ")
    for text in case["expect"]:
        wanted_streams, wanted_fate = expand(text).split(" ")
        if wanted_streams in ("*", streams) and wanted_fate in ("*", fate):
            return True
    return False
