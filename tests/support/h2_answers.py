"""Reads what an HTTP/2 server has sent: frames to responses, strictly (RFC 9113).

A test's reader, made to find faults: frames, fields or windows that are not as the standard has
them raise Fault. What this side has sent must be told where it bears on that: SETTINGS, and
WINDOW_UPDATE.
"""

import dataclasses
import re

import hpack

from support import answers
from support.answers import Fault, Fields
from support.h2_frames import (ACK, END_HEADERS, END_STREAM, HAS_PRIORITY, PADDED, WINDOW,
                               WINDOW_MAX, error_name, take_frame)

FRAME_MAX = 16384
NAME = re.compile(r":?[!#$%&'*+\-.^_`|~0-9a-z]+")
NOT_IN_HTTP2 = ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade")


@dataclasses.dataclass
class Stream:
    """One response, as far as it has come; `status` is 0 before its final head."""
    id: int
    status: int = 0
    interim: list = dataclasses.field(default_factory=list)
    fields: Fields = dataclasses.field(default_factory=Fields)
    trailers: Fields = dataclasses.field(default_factory=Fields)
    body: bytes = b""
    ended: bool = False
    reset: str = ""
    granted: int = 0  # octets by WINDOW_UPDATE
    used: int = 0     # octets of the window, padding and all
    to_head: bool = False

    @property
    def over(self):
        return self.ended or bool(self.reset)

    def __str__(self):
        """Such as "200", "200!" (cut short), "REFUSED_STREAM", "200!+INTERNAL_ERROR"."""
        status = f"{self.status}{'' if self.ended else '!'}" if self.status else ""
        return "+".join(filter(None, [status, self.reset]))


class Reader:
    """Everything that has come on one connection."""

    def __init__(self):
        self.octets = b""
        self.frames = []
        self.streams = {}
        self.settings = None   # the server's, once they are here
        self.goaways = []      # (last stream, code)
        self.pongs = []
        self.acks = 0          # of our SETTINGS
        self.heads = set()     # streams that asked with HEAD
        self.hpack = hpack.Decoder()
        self.hpack.max_header_list_size = 1 << 20
        self.granted = 0       # to the connection
        self.used = 0
        self.unacknowledged = [{"INITIAL_WINDOW_SIZE": WINDOW}]  # the first is in force
        self.section = None    # the frames of a field section that is not complete
        self.speaks_http1 = False

    def stream(self, number):
        if number not in self.streams:
            self.streams[number] = Stream(number, to_head=number in self.heads)
        return self.streams[number]

    # ---- what this side has sent

    def sent_settings(self, pairs):
        """SETTINGS were sent: what is in them may be in force from now on, and is once acknowledged."""
        self.unacknowledged.append({**self.unacknowledged[-1], **dict(pairs)})

    def sent_window_update(self, number, increment):
        if number == 0:
            self.granted += increment
        else:
            self.stream(number).granted += increment

    # ---- frames

    def feed(self, octets):
        """Returns the frames that have become whole."""
        self.octets += octets
        taken = []
        if not self.frames and self.octets.startswith(b"HTTP/1.1 "):
            self.speaks_http1 = True
            return taken
        while True:
            frame, self.octets = take_frame(self.octets)
            if frame is None:
                if len(self.octets) >= 3 and int.from_bytes(self.octets[:3], "big") > FRAME_MAX:
                    raise Fault(f"a frame of more than {FRAME_MAX} octets: {self.octets[:40]!r}")
                return taken
            self.frames.append(frame)
            taken.append(frame)
            self._take(frame)

    def _take(self, frame):
        if self.settings is None and (frame.name != "SETTINGS" or frame.has(ACK)):
            raise Fault(f"SETTINGS must come first, not {frame}")
        if self.section and (frame.name != "CONTINUATION"
                             or frame.stream != self.section[0].stream):
            raise Fault(f"{frame} within a field section")
        on_stream = frame.name in ("DATA", "HEADERS", "RST_STREAM", "CONTINUATION")
        if on_stream and frame.stream % 2 == 0:
            raise Fault(f"{frame} on a stream that no client can open")
        if not on_stream and frame.stream != 0 and frame.name != "WINDOW_UPDATE":
            raise Fault(f"{frame} on a stream")
        take = getattr(self, "_take_" + frame.name.lower(), None)
        if take is None:
            raise Fault(f"a server does not send {frame}")
        take(frame)

    def _take_settings(self, frame):
        if frame.has(ACK):
            if frame.payload:
                raise Fault("an acknowledgement with a payload")
            self.acks += 1
            if len(self.unacknowledged) == 1:
                raise Fault("an acknowledgement of SETTINGS that were not sent")
            self.unacknowledged.pop(0)
            table = self.unacknowledged[0].get("HEADER_TABLE_SIZE", 4096)
            self.hpack.max_allowed_table_size = min(table, 4096)
            return
        if len(frame.payload) % 6:
            raise Fault("SETTINGS that are no multiple of 6 octets")
        self.settings = dict(frame.pairs)
        if self.settings.get("ENABLE_PUSH", 0) != 0:
            raise Fault("a server that enables push")

    def _take_ping(self, frame):
        if len(frame.payload) != 8:
            raise Fault(f"a PING that nobody can use: {frame}")
        if frame.has(ACK):
            self.pongs.append(frame.payload)

    def _take_goaway(self, frame):
        last, code, _ = frame.goaway
        if self.goaways and last > self.goaways[-1][0]:
            raise Fault("the last stream of GOAWAY has grown")
        self.goaways.append((last, code))

    def _take_window_update(self, frame):
        if len(frame.payload) != 4 or not 0 < frame.number <= WINDOW_MAX:
            raise Fault(f"no increment: {frame}")

    def _take_rst_stream(self, frame):
        stream = self.stream(frame.stream)
        if stream.reset:
            raise Fault(f"reset twice: {frame}")
        stream.reset = error_name(frame.number)

    def _take_data(self, frame):
        stream = self.stream(frame.stream)
        if stream.over or not stream.status:
            raise Fault(f"{frame} outside of a response")
        stream.used += len(frame.payload)
        self.used += len(frame.payload)
        window = max(settings["INITIAL_WINDOW_SIZE"] for settings in self.unacknowledged)
        if stream.used > stream.granted + window:
            raise Fault(f"{frame}: {stream.used} octets, more than the stream's window")
        if self.used > self.granted + WINDOW:
            raise Fault(f"{frame}: {self.used} octets, more than the connection's window")
        payload = frame.payload
        if frame.has(PADDED):
            payload = payload[1:len(payload) - payload[0]]
        stream.body += payload
        if frame.has(END_STREAM):
            self._end(stream)

    def _take_headers(self, frame):
        if frame.has(HAS_PRIORITY):
            raise Fault("a server that tells the client priorities")
        self.section = [frame]
        self._end_section(frame)

    def _take_continuation(self, frame):
        if not self.section:
            raise Fault(f"{frame} outside of a field section")
        self.section.append(frame)
        self._end_section(frame)

    # ---- messages

    def _end_section(self, frame):
        if not frame.has(END_HEADERS):
            return
        first, section, self.section = self.section[0], self.section, None
        octets = b"".join(part.payload for part in section)
        if first.has(PADDED):
            octets = octets[1:len(octets) - octets[0]]
        fields = Fields()
        for name, value in self.hpack.decode(octets, raw=True):
            fields.add(name.decode("latin-1"), value.decode("latin-1"))
        self._take_section(self.stream(first.stream), fields, first.has(END_STREAM))

    def _take_section(self, stream, fields, end):
        check_names(fields)
        if stream.over:
            raise Fault(f"a field section behind the end of stream {stream.id}")
        if stream.status:
            if not end or any(name.startswith(":") for name, _ in fields.pairs):
                raise Fault(f"no trailers: {fields}")
            stream.trailers = fields
        else:
            self._take_head(stream, fields, end)
        if end:
            self._end(stream)

    def _take_head(self, stream, fields, end):
        pseudo = [name for name, _ in fields.pairs if name.startswith(":")]
        if pseudo != [":status"] or not fields.pairs[0][0] == ":status":
            raise Fault(f"a response has :status, first and alone: {fields}")
        status = fields.get(":status")
        if not re.fullmatch(r"[1-5]\d\d", status) or status == "101":
            raise Fault(f"no status: {status}")
        if status < "200":
            if end:
                raise Fault("an interim response that ends the stream")
            stream.interim.append(fields)
        else:
            stream.status, stream.fields = int(status), fields

    def _end(self, stream):
        stream.ended = True
        length = stream.fields.get("content-length")
        empty = stream.to_head or stream.status in (204, 304)
        if empty and stream.body:
            raise Fault(f"content that must not be: {stream.body[:100]!r}")
        if length is not None and not empty and int(length) != len(stream.body):
            raise Fault(f"content-length {length}, but {len(stream.body)} octets")
        answers.check_fields(stream)

    def summary(self, fate):
        """Such as "1=200,3=REFUSED_STREAM open"."""
        told = ",".join(f"{number}={stream}" for number, stream in sorted(self.streams.items())
                        if str(stream))
        return f"{told or '-'} {fate}"


def check_names(fields):
    for name, value in fields.pairs:
        if not NAME.fullmatch(name):
            raise Fault(f"no field name of HTTP/2: {name!r}")
        if name in NOT_IN_HTTP2:
            raise Fault(f"a field that HTTP/2 does not have: {name}")
        if value != value.strip(" \t") or re.search("[\0\r\n]", value):
            raise Fault(f"no field value: {value!r}")
