"""Facts about sessions, cookies and forms as they are on the wire, in both protocols."""

import concurrent.futures
import re

import pytest

from support import h2_client
from support import h2_frames as h2
from support.asking import PROTOCOLS, Asker, ask
from support.client import Client, get, post

NAME = re.compile("[0-9A-Za-z]{32}")


@pytest.fixture(scope="module")
def target(module_servers):
    return module_servers.wire(workers=2, pool=4, tls=True)


@pytest.fixture(params=PROTOCOLS)
def asker(request, target):
    with Asker(target.ports[0], request.param) as made:
        yield made


# ---- sessions ------------------------------------------------------------------------------------

def session_of(answer):
    """(name, attributes) of the one cookie that an answer sets."""
    (text,) = answer.fields.all("Set-Cookie")
    pair, *attributes = text.split("; ")
    key, name = pair.split("=")
    assert key == "sid"
    return name, set(attributes)


def with_name(name):
    return [("Cookie", f"other=1; sid={name}; another=2")]


def test_a_cookie_finds_its_session_again(asker):
    first = asker.ask("/session/count")
    name, _ = session_of(first)
    counts = [asker.ask("/session/count", with_name(name)) for _ in range(2)]
    assert [first.body] + [answer.body for answer in counts] == [b"1", b"2", b"3"]
    assert not any("Set-Cookie" in answer.fields for answer in counts)


def test_the_cookie_has_these_attributes_and_no_others(asker):
    name, attributes = session_of(asker.ask("/session/count"))
    assert NAME.fullmatch(name)
    assert attributes == {"Path=/session", "Max-Age=60", "HttpOnly", "SameSite=Lax"}


def test_over_tls_it_is_secure(target):
    answer = h2_client.ask_once(target.ports[1], h2.get(1, "/session/count"), tls=True)
    _, attributes = session_of(answer)
    assert attributes == {"Path=/session", "Max-Age=60", "HttpOnly", "SameSite=Lax", "Secure"}


@pytest.mark.parametrize("made_up", ["maliciousid", "0" * 32, "", "../../etc/passwd", "x" * 5000,
                                     '"quoted"', "\xe9" * 32])
def test_a_name_that_a_client_makes_up_is_not_taken(asker, made_up):
    answer = asker.ask("/session/count", with_name(made_up))
    name, _ = session_of(answer)
    assert (answer.status, answer.body) == (200, b"1")
    assert NAME.fullmatch(name) and name != made_up


def test_a_login_renames_the_session_and_the_old_name_is_worth_nothing(asker):
    old, _ = session_of(asker.ask("/session/count"))
    answer = asker.ask("/session/log-in", with_name(old))
    new, _ = session_of(answer)
    assert answer.body == b"2" and new != old
    assert asker.ask("/session/count", with_name(new)).body == b"3"
    assert asker.ask("/session/count", with_name(old)).body == b"1"


def test_a_login_with_a_made_up_name_gets_a_name_of_its_own(asker):
    planted = "a" * 32
    new, _ = session_of(asker.ask("/session/count", with_name(planted)))
    again, _ = session_of(asker.ask("/session/log-in", with_name(new)))
    assert len({planted, new, again}) == 3


def test_a_logout_ends_the_session_and_its_cookie(asker):
    name, _ = session_of(asker.ask("/session/count"))
    ended, attributes = session_of(asker.ask("/session/log-out", with_name(name)))
    assert ended == "" and "Max-Age=0" in attributes
    assert asker.ask("/session/count", with_name(name)).body == b"1"


def test_names_do_not_repeat(target):
    with Asker(target.ports[0], "http1") as asker:
        names = {session_of(asker.ask("/session/count"))[0] for _ in range(500)}
    assert len(names) == 500


@pytest.mark.parametrize("path", ["/session/count", "/session/count/on-pool"])
def test_no_update_is_lost(target, path):
    threads, hits = 8, 100
    name, _ = session_of(ask(target.ports[0], "http1", "/session/count"))

    def hit(number):
        with Asker(target.ports[0], PROTOCOLS[number % 2]) as asker:
            return [int(asker.ask(path, with_name(name)).body) for _ in range(hits)]

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        seen = [count for counts in pool.map(hit, range(threads)) for count in counts]
    assert sorted(seen) == list(range(2, threads * hits + 2))


# ---- cookies -------------------------------------------------------------------------------------

@pytest.mark.parametrize("sent,read", [
    ('a="x"; b={"k":1}; c=3', b'a="x"\nb={"k":1}\nc=3\n'),
    ("a=1; nothing; c=3", b"a=1\nc=3\n"),
    ("a=1; =nameless; c=3", b"a=1\nc=3\n"),
    ("a,b=c; d=e", b"a,b=c\nd=e\n"),
    (";;a=1;;", b"a=1\n"),
    ("a=1=2", b"a=1=2\n"),
    ("a = 1 ; b=2", b"a=1\nb=2\n")])
def test_a_pair_that_is_none_does_not_lose_the_others(asker, sent, read):
    answer = asker.ask("/cookies", [("Cookie", sent)])
    assert (answer.status, answer.body) == (200, read)


def test_two_cookies_are_two_fields(asker):
    assert asker.ask("/set-cookies").fields.all("Set-Cookie") == ["a=1", "b=2"]


# ---- forms ---------------------------------------------------------------------------------------

URLENCODED = ("Content-Type", "application/x-www-form-urlencoded")


def multipart(*parts, end="\r\n"):
    """(fields, body); a part is (what its disposition says, more fields, content)."""
    body = b"".join(f"--sep\r\nContent-Disposition: form-data; {said}\r\n{more}\r\n".encode("latin-1")
                    + content + b"\r\n" for said, more, content in parts)
    return [("Content-Type", "multipart/form-data; boundary=sep")], body + b"--sep--" + end.encode()


def test_a_form_is_read_with_its_query(asker):
    answer = asker.ask("/form?q=1&a=0", [URLENCODED], "POST", b"a=1&b=x+y%21&a=2&c=&d")
    assert answer.body.decode() == "q=1\na=0\na=1\nb=x y!\na=2\nc=\nd=\n"


@pytest.mark.parametrize("end", ["\r\n", ""], ids=["", "without its last line end"])
@pytest.mark.parametrize("path", ["/form", "/parts"])
def test_a_form_with_files_is_read(asker, path, end):
    fields, body = multipart(
        ('name="a"', "", b"one"), ('name="a"', "", b"two"),
        ('name="f"; filename="x y.txt"', "Content-Type: text/plain\r\n", b"\r\n--se\r\n" * 3),
        ('name="n"; filename="q\\"uoted.txt"', "", b""), end=end)
    answer = asker.ask(path, fields, "POST", body)
    assert answer.status == 200
    lines = answer.body.decode().splitlines()
    assert lines[:2] == (["a=one", "a=two"] if path == "/form" else ["a: , 3", "a: , 3"])
    assert lines[2].startswith("f: x y.txt,") and lines[2].endswith(", 24")
    assert lines[3].startswith('n: q"uoted.txt,') and lines[3].endswith(", 0")


def test_many_files_of_one_name_are_a_list(asker):
    contents = [bytes([ord("a") + number]) * 20000 for number in range(8)]
    fields, body = multipart(*(('name="f"; filename="x"', "", content) for content in contents))
    answer = asker.ask("/form", fields, "POST", body)
    assert answer.body.decode().splitlines() == ["f: x, , 20000"] * 8


def test_an_extended_name_is_decoded(asker):
    fields, body = multipart(('name="f"; filename*=UTF-8\'\'%E2%82%AC%20x', "", b"1"))
    assert asker.ask("/form", fields, "POST", body).body.decode() == "f: \u20ac x, , 1\n"


def test_octets_of_no_charset_arrive_as_they_were_sent(asker):
    """Values are octets: the form's type defines no charset (its registration says so), hence there is
    none that they could violate, and no 400 as of servers that make text of them first."""
    said = [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")]
    assert asker.ask("/form", said, "POST", b"a=%ff%fe&b=\xe9").body == b"a=\xff\xfe\nb=\xe9\n"


# (path, fields, body, status)
MALFORMED = {
    "an escape without digits": ("/form", [URLENCODED], b"a=%zz&b=1", 400),
    "half an escape": ("/form", [URLENCODED], b"a=1&b=%4", 400),
    "too many pairs": ("/form", [URLENCODED], b"a=1&" * 1001, 413),
    "no boundary": ("/parts", [("Content-Type", "multipart/form-data")], b"--x--", 400),
    "an empty boundary": ("/parts", [("Content-Type", 'multipart/form-data; boundary=""')], b"--", 400),
    "a boundary that is too long": (
        "/parts", [("Content-Type", "multipart/form-data; boundary=" + "b" * 71)], b"--", 400),
    "a boundary with a quote that is not closed": (
        "/parts", [("Content-Type", 'multipart/form-data; boundary="x')], b"--x--", 400),
    "another boundary than said": (
        "/parts", [("Content-Type", "multipart/form-data; boundary=x")], b"--y\r\n\r\n\r\n--y--", 400),
    "no last boundary": ("/parts", *multipart(('name="a"', "", b"1"))[:1],
                         multipart(('name="a"', "", b"1"))[1][:-9], 400),
    "a part without a name": ("/parts", *multipart(('nam="a"', "", b"1")), 400),
    "a part whose field is none": ("/parts", *multipart(('name="a"', "no colon\r\n", b"1")), 400),
    "too many parts": ("/parts", *multipart(*[('name="a"', "", b"1")] * 9), 413),
    "a part that is too large": ("/parts", *multipart(('name="a"', "", b"1" * 100001)), 413),
    "a head of a part that is too large": (
        "/parts", *multipart(('name="a"', f"X: {'y' * 5000}\r\n", b"1")), 413),
    "no form at all": ("/parts", [("Content-Type", "text/plain")], b"a=1", 415),
    "no type at all": ("/parts", [], b"a=1", 415),
    "a form in a whole body, cut short": ("/form", *multipart(('name="a"', "", b"1"))[:1],
                                          multipart(('name="a"', "", b"1"))[1][:-9], 400),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_form_that_is_none_is_refused_and_the_connection_goes_on(asker, what):
    path, fields, body, status = MALFORMED[what]
    answer = asker.ask(path, fields, "POST", body)
    assert answer.status == status, answer.body
    if asker.protocol == "http2" or not answer.says_close:
        assert asker.ask("/method").body == b"GET"


def test_a_form_may_come_octet_by_octet(target):
    fields, body = multipart(('name="f"; filename="x"', "", b"0123456789"))
    with Client(target.ports[0]) as client:
        for octet in post("/parts", body, "".join(f"{n}: {v}\r\n" for n, v in fields)):
            client.send(bytes([octet]))
        assert client.answer().body == b"f: x, 10\n"
        assert client.ask(get("/method")).body == b"GET"
