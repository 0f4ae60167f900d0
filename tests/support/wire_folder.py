"""The folder that wire_target serves: makes it of tests/wire/folder.json, and asks for its validators."""

import json
import os
import pathlib
import time

from support.client import ask_once

TABLE = pathlib.Path(__file__).resolve().parents[1] / "wire" / "folder.json"
TIME_S = 1234567890  # Fri, 13 Feb 2009 23:31:30 GMT


def octets_of(contents):
    if isinstance(contents, str):
        return contents.encode("latin-1")
    return contents["repeat"].encode("latin-1") * contents["times"]


def load():
    return json.loads(TABLE.read_text(encoding="utf-8"))


def make(top):
    """Fills an empty directory; returns the one in it that is served."""
    table = load()
    for name in table["directories"]:
        (top / name).mkdir(parents=True)
    for name, contents in table["files"].items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(octets_of(contents))
        os.utime(path, (TIME_S, TIME_S))
    for name, target in table["links"].items():
        os.symlink(target, top / name)
    return top / "pub"


def fetch_validators(port):
    """What stands for the validators of "/" in cases: texts by their tokens."""
    fields = ask_once(port).fields
    etag, date = fields.get("ETag"), fields.get("Last-Modified")
    when = time.strptime(date, "%a, %d %b %Y %H:%M:%S GMT")
    return {"{etag}": etag, "{etags}": etag.removeprefix("W/"), "{lm}": date,
            "{lm850}": time.strftime("%A, %d-%b-%y %H:%M:%S GMT", when),
            "{lmasc}": time.strftime("%a %b %e %H:%M:%S %Y", when)}
