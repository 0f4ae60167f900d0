"""The wire cases (tests/wire/README.md): loading them, what they send, what they say of a response; and
the same request in frames of HTTP/2."""

import json
import pathlib
import re

WIRE = pathlib.Path(__file__).resolve().parents[1] / "wire"
OF_FILES = ("conditional", "ranges", "paths", "files", "folders")
NOT_IN_HTTP2 = {"host", "connection"}


def load(folder="cases"):
    """The cases of each file, by its name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))["cases"]
            for path in sorted((WIRE / folder).glob("*.json"))}


# ---- what is sent --------------------------------------------------------------------------------

def part_octets(part):
    if isinstance(part, str):
        return part.encode("latin-1")
    text = part["repeat"].encode("latin-1")
    return b"".join(text.replace(b"#", b"%d" % number) for number in range(part["times"]))


def segments_of(case, validators):
    segments = []
    for segment in case["send"]:
        parts = segment if isinstance(segment, list) else [segment]
        octets = b"".join(part_octets(part) for part in parts)
        if case.get("template"):
            for token, text in validators.items():
                octets = octets.replace(token.encode(), text.encode())
        segments.append(octets)
    return segments


# ---- what is said of a response ------------------------------------------------------------------

def check_also(also, answer):
    """An entry of `also`, of an answer of either protocol."""
    body = answer.body.decode("latin-1")
    for name, value in also.get("has", {}).items():
        assert answer.fields.get(name) == value, name
    for name, values in also.get("values", {}).items():
        assert answer.fields.all(name) == values
    for name, pattern in also.get("matches", {}).items():
        assert name in answer.fields and re.search(pattern, answer.fields.get(name)), name
    for name, value in also.get("trailers", {}).items():
        assert answer.trailers.get(name) == value
    for name in also.get("lacks", ()):
        assert name not in answer.fields, name
    assert body == also.get("body", body)
    assert len(body) == also.get("body_length", len(body))
    assert "body_lacks" not in also or also["body_lacks"] not in body
    assert re.search(also.get("body_matches", ""), body)


# ---- the same in HTTP/2 --------------------------------------------------------------------------

def has_http2(case):
    """HTTP/1.0 is no version of a request in HTTP/2."""
    return "HTTP/1.0" not in str(case["send"])


def http2_expectation(text):
    """"304,200k" as streams; what is no target at all is refused by either name."""
    if text == "400c":
        return ["1=400 open", "1=PROTOCOL_ERROR open"]
    streams = ",".join(f"{2 * number + 1}={status}"
                       for number, status in enumerate(text[:-1].split(",")))
    return [f"{streams} open"]


def in_http2(case):
    """The case in the other dialect, but for what it sends: http2_steps has that."""
    made = {"id": case["id"], "source": case["source"], "note": case["note"], "of": case}
    made["expect"] = [other for text in case["expect"] for other in http2_expectation(text)]
    made["heads"] = [2 * number + 1 for number in case.get("head_responses", ())]
    made["also"] = [{**also, "stream": 2 * also["response"] + 1} for also in case.get("also", ())]
    for also in made["also"]:
        also["lacks"] = [name for name in also.get("lacks", ()) if name != "Connection"]
    return made


def http2_steps(case, validators):
    """Its requests as HEADERS. None of them has a body."""
    steps = []
    heads = b"".join(segments_of(case, validators)).decode("latin-1").split("\r\n\r\n")[:-1]
    for number, head in enumerate(heads):
        line, *fields = head.split("\r\n")
        named = [field.partition(": ")[::2] for field in fields]
        steps.append({"HEADERS": 2 * number + 1, "end": True,
                      "fields": [line.rpartition(" ")[0]]
                                + [{"name": name.lower(), "value": value}
                                   for name, value in named if name.lower() not in NOT_IN_HTTP2]})
    return steps
