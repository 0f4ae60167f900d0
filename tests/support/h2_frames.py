"""HTTP/2 frames, built and read octet by octet (RFC 9113 sections 4 and 6, RFC 7541, RFC 9218).

What is built is well formed unless the caller asks for something else: `flags`, `length` and
`payload` are sent as they are given. Nothing here has a state.
"""

import dataclasses
import struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_OCTETS = 9
WINDOW = 65535  # of a stream and of the connection, at first
WINDOW_MAX = (1 << 31) - 1

TYPES = {"DATA": 0, "HEADERS": 1, "PRIORITY": 2, "RST_STREAM": 3, "SETTINGS": 4,
         "PUSH_PROMISE": 5, "PING": 6, "GOAWAY": 7, "WINDOW_UPDATE": 8, "CONTINUATION": 9,
         "PRIORITY_UPDATE": 16}
TYPE_NAMES = {number: name for name, number in TYPES.items()}

ERRORS = ["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR",
          "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL",
          "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
          "HTTP_1_1_REQUIRED"]

SETTINGS = {"HEADER_TABLE_SIZE": 1, "ENABLE_PUSH": 2, "MAX_CONCURRENT_STREAMS": 3,
            "INITIAL_WINDOW_SIZE": 4, "MAX_FRAME_SIZE": 5, "MAX_HEADER_LIST_SIZE": 6,
            "ENABLE_CONNECT_PROTOCOL": 8, "NO_RFC7540_PRIORITIES": 9}
SETTING_NAMES = {number: name for name, number in SETTINGS.items()}

END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
HAS_PRIORITY = 0x20


def error_name(code):
    return ERRORS[code] if code < len(ERRORS) else hex(code)


def error_code(error):
    return ERRORS.index(error) if isinstance(error, str) else error


# ---- building ------------------------------------------------------------------------------------

def frame(kind, stream=0, payload=b"", flags=0, length=None):
    """Any frame. `kind` is a name or a number; `length` is a lie when it is given."""
    number = TYPES[kind] if isinstance(kind, str) else kind
    length = len(payload) if length is None else length
    return struct.pack("!I", length)[1:] + struct.pack("!BBI", number, flags, stream) + payload


def padded(payload, pad):
    """(payload, flag) with `pad` octets of padding; None is none."""
    if pad is None:
        return payload, 0
    return bytes([pad]) + payload + bytes(pad), PADDED


def headers(stream, block, end=False, end_headers=True, pad=None, priority=None):
    """`priority` is (stream it depends on, weight from 1 to 256, exclusive)."""
    flags = (END_STREAM if end else 0) | (END_HEADERS if end_headers else 0)
    if priority is not None:
        block, flags = dependency(*priority) + block, flags | HAS_PRIORITY
    block, flag = padded(block, pad)
    return frame("HEADERS", stream, block, flags | flag)


def continuation(stream, block, end_headers=True):
    return frame("CONTINUATION", stream, block, END_HEADERS if end_headers else 0)


def data(stream, octets=b"", end=False, pad=None):
    payload, flag = padded(octets, pad)
    return frame("DATA", stream, payload, flag | (END_STREAM if end else 0))


def settings(values=None, ack=False):
    """`values` maps names or numbers to numbers, or is a list of such pairs."""
    pairs = values.items() if isinstance(values, dict) else values or ()
    payload = b"".join(struct.pack("!HI", SETTINGS.get(key, key), value) for key, value in pairs)
    return frame("SETTINGS", 0, payload, ACK if ack else 0)


def ping(octets=b"rivulet!", ack=False):
    return frame("PING", 0, octets, ACK if ack else 0)


def rst_stream(stream, code="CANCEL"):
    return frame("RST_STREAM", stream, struct.pack("!I", error_code(code)))


def goaway(last=0, code="NO_ERROR", debug=b""):
    return frame("GOAWAY", 0, struct.pack("!II", last, error_code(code)) + debug)


def window_update(stream, increment):
    return frame("WINDOW_UPDATE", stream, struct.pack("!I", increment))


def dependency(on, weight=16, exclusive=False):
    return struct.pack("!IB", on | (1 << 31 if exclusive else 0), weight - 1)


def priority(stream, on, weight=16, exclusive=False):
    return frame("PRIORITY", stream, dependency(on, weight, exclusive))


def priority_update(stream, value):
    """RFC 9218 section 7.1."""
    return frame("PRIORITY_UPDATE", 0, struct.pack("!I", stream) + value.encode("latin-1"))


# ---- HPACK, as raw as can be ---------------------------------------------------------------------

def integer(value, bits, first=0):
    """RFC 7541 section 5.1: the value behind a prefix; `first` holds the bits in front of it."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    octets, value = [first | most], value - most
    while value >= 128:
        octets.append(value % 128 | 128)
        value //= 128
    return bytes(octets + [value])


def string(octets):
    return integer(len(octets), 7) + octets


def literal(name, value, first=0x00):
    """A field that no table knows; `first` 0x40 has it inserted, 0x10 never."""
    return bytes([first]) + string(octets_of(name)) + string(octets_of(value))


def octets_of(text):
    return text if isinstance(text, bytes) else text.encode("latin-1")


def block(fields):
    """The fields as literals, in this order, whatever they are."""
    return b"".join(literal(name, value) for name, value in fields)


def request(path="/", method="GET", fields=(), scheme="http", authority="x"):
    """The fields of a request."""
    return [(":method", method), (":scheme", scheme), (":path", path),
            (":authority", authority), *fields]


def get(stream, path="/", method="GET", fields=()):
    """A request without a body."""
    return headers(stream, block(request(path, method, fields)), end=True)


def post(stream, path, body=b"", fields=()):
    """A request with a small body, in one DATA frame."""
    return headers(stream, block(request(path, "POST", fields))) + data(stream, body, end=True)


# ---- reading -------------------------------------------------------------------------------------

@dataclasses.dataclass
class Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def name(self):
        return TYPE_NAMES.get(self.kind, hex(self.kind))

    def has(self, flag):
        return bool(self.flags & flag)

    @property
    def number(self):
        """The one number of a WINDOW_UPDATE or RST_STREAM."""
        return struct.unpack("!I", self.payload)[0]

    @property
    def pairs(self):
        """Of SETTINGS."""
        return [(SETTING_NAMES.get(key, key), value)
                for key, value in struct.iter_unpack("!HI", self.payload)]

    @property
    def goaway(self):
        """(last stream, name of the code, debug data)"""
        last, code = struct.unpack("!II", self.payload[:8])
        return last & WINDOW_MAX, error_name(code), self.payload[8:]

    def __str__(self):
        """Such as "HEADERS 1 END_STREAM 40 octets", "PING 0 ACK rivulet!", "RST_STREAM 1 CANCEL"."""
        words = [self.name, str(self.stream)]
        if self.name in ("SETTINGS", "PING") and self.has(ACK):
            words.append("ACK")
        if self.name in ("DATA", "HEADERS") and self.has(END_STREAM):
            words.append("END_STREAM")
        return " ".join(words + [self._detail()]).strip()

    def _detail(self):
        if self.name == "SETTINGS":
            return " ".join(f"{key}={value}" for key, value in self.pairs)
        if self.name == "PING":
            return self.payload.decode("latin-1")
        if self.name == "RST_STREAM":
            return error_name(self.number)
        if self.name == "WINDOW_UPDATE":
            return f"+{self.number}"
        if self.name == "GOAWAY":
            last, code, debug = self.goaway
            return f"{code} last={last} {debug.decode('latin-1')}"
        return f"{len(self.payload)} octets"


def take_frame(octets):
    """(the first frame, what is behind it); None while it is not whole."""
    if len(octets) < HEAD_OCTETS:
        return None, octets
    length = int.from_bytes(octets[:3], "big")
    kind, flags, stream = struct.unpack("!BBI", octets[3:HEAD_OCTETS])
    if len(octets) < HEAD_OCTETS + length:
        return None, octets
    payload, rest = octets[HEAD_OCTETS:HEAD_OCTETS + length], octets[HEAD_OCTETS + length:]
    return Frame(kind, flags, stream & WINDOW_MAX, payload), rest
