"""`rivulet report`, and the file that it reads: its schema, its forms, and what is wrong with a bad one."""

import copy
import json
import pathlib
import re

import jsonschema
import pytest

from support.command import rivulet
from support.scripted import refusing
from support.server import ROOT

SCHEMA = json.loads((ROOT / "docs" / "result.schema.json").read_text(encoding="utf-8"))


def report(*words, **options):
    return rivulet("report", *words, **options)


@pytest.fixture(scope="module")
def saved(demo, tmp_path_factory):
    """A saved result, and the report that was printed when it was saved."""
    path = tmp_path_factory.mktemp("report") / "run.json"
    printed = rivulet("bench", "-q", "-n", 500, "-c", 5, "-o", path, demo.url("/ok")).out
    return path, printed


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """A saved result of a run that reached nobody."""
    path = tmp_path_factory.mktemp("report") / "refused.json"
    with refusing() as port:
        rivulet("bench", "-q", "-n", 5, "-c", 1, "-o", path, f"http://127.0.0.1:{port}/", code=2)
    return path


def load(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


# ---- the file ------------------------------------------------------------------------------------

def check(result):
    jsonschema.Draft202012Validator(SCHEMA).validate(result)


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def described(schema, path=""):
    """Every member of the schema and whether it has a description."""
    for name, member in schema.get("properties", {}).items():
        yield f"{path}.{name}", "description" in member
        yield from described(member, f"{path}.{name}")
        yield from described(member.get("items", {}), f"{path}.{name}[]")
    for name, definition in schema.get("$defs", {}).items():
        yield from described(definition, f"{path}${name}")


def test_every_member_is_described():
    members = dict(described(SCHEMA))
    assert len(members) > 180
    assert [path for path, is_described in members.items() if not is_described] == []


def test_a_saved_result_is_as_the_schema_says(saved):
    check(load(saved[0]))


def test_a_saved_result_of_failures_is_as_the_schema_says(refused):
    result = load(refused)
    check(result)
    failure = result["failures"]["connect_refused"]
    assert failure["count"] == result["requests"]["failed"] > 0
    assert failure["errnos"]["ECONNREFUSED"] > 0


def test_a_saved_result_has_what_was_seen(saved):
    result = load(saved[0])
    assert result["requests"]["answered"] == 500
    assert result["statuses"] == {"200": 500}
    assert result["times_us"]["total"]["all"]["count"] == 500
    assert result["times_us"]["connect"]["count"] == result["connections"]["connects"] == 5
    assert result["evidence"]["server"]["found"] is True
    assert all(law["holds"] for law in result["laws"])


@pytest.mark.parametrize("change", (
    lambda result: result.pop("plan"),
    lambda result: result["plan"].pop("clients"),
    lambda result: result["plan"].update(mood=1),
    lambda result: result.update(version=2),
    lambda result: result["times_us"]["wait"].update(hdr="?"),
    lambda result: result["statuses"].update({"20": 1}),
    lambda result: result["failures"].update(bad_weather={"count": 1, "errnos": {}}),
    lambda result: result["requests"].update(answered=-1),
    lambda result: result["requests"].update(answered=1.5),
))
def test_the_schema_refuses_what_is_no_result(saved, change):
    result = copy.deepcopy(load(saved[0]))
    change(result)
    with pytest.raises(jsonschema.ValidationError):
        check(result)


# ---- the command ---------------------------------------------------------------------------------

def test_it_says_what_was_said_after_the_run(saved):
    path, printed = saved
    assert report(path).out == printed
    assert report("--format", "text", path).out == printed


def test_json_is_the_file_itself(saved):
    path, _ = saved
    assert report("--format", "json", path).out == path.read_text(encoding="utf-8")


def test_the_other_forms_are_their_own(saved):
    path, _ = saved
    ab = report("--format", "ab", path).out
    assert re.search(r"^Complete requests:      500$", ab, re.M)
    assert re.search(r"^Document Path:          /ok$", ab, re.M)
    csv = report("--format", "csv", path).out.splitlines()
    assert csv[0].startswith("start_s,") and len(csv) >= 2
    assert sum(int(line.split(",")[2]) for line in csv[1:]) == 500
    table = report("--format", "cherrypy", path).out.splitlines()
    assert table[0].startswith("threads | Completed | Failed |")
    assert [cell.strip() for cell in table[1].split("|")][:3] == ["5", "500", "0"]


def test_a_run_that_reached_nobody_can_be_rendered_in_every_form(refused):
    assert "refused" in report(refused).out
    for form in ("json", "csv", "ab", "cherrypy"):
        assert report("--format", form, refused).out != ""


def test_a_result_can_come_on_stdin(saved):
    path, printed = saved
    assert report("-", input=path.read_text(encoding="utf-8")).out == printed


def test_a_report_can_go_to_a_file(saved, tmp_path):
    path, printed = saved
    output = tmp_path / "report.txt"
    assert report("-o", output, path).out == ""
    assert output.read_text(encoding="utf-8") == printed
    assert report("--output", "-", path).out == printed


def test_a_result_can_be_written_over_itself(saved, tmp_path):
    path = tmp_path / "run.json"
    path.write_bytes(saved[0].read_bytes())
    report("--format", "json", "-o", path, path)
    assert path.read_bytes() == saved[0].read_bytes()


def test_help_goes_to_stdout():
    done = report("--help")
    assert done.out.startswith("usage: rivulet report") and done.err == ""
    assert "report" in rivulet("--help").out


@pytest.mark.parametrize("words, sentence", (
    ((), "a file is needed"),
    (("--format", "xml", "x"), '--format takes text, json, csv, ab or cherrypy, not "xml"'),
    (("--format",), "--format needs a value"),
    (("-o",), "-o needs a value"),
    (("--output",), "-o needs a value"),
    (("--colour", "x"), "there is no option --colour"),
    (("-x", "x"), "there is no option -x"),
    (("a.json", "b.json"), 'one file at a time, and not "b.json", too'),
))
def test_a_wrong_command_line_is_one_line_and_exit_code_1(words, sentence):
    done = report(*words, code=1)
    assert done.out == "" and done.err.startswith("rivulet report: ") and done.err.count("\n") == 1
    assert sentence in done.err and "rivulet report --help" in done.err


def wrong_files(tmp_path, saved):
    def file(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    def changed(name, change):
        result = load(saved)
        change(result)
        return file(name, json.dumps(result).encode())

    whole = pathlib.Path(saved).read_bytes()
    yield tmp_path / "none.json", "No such file or directory"
    yield tmp_path, "Is a directory"
    yield file("empty.json", b""), "is no JSON: line 1"
    yield file("half.json", whole[:len(whole) // 2]), "is no JSON: line"
    yield file("binary.json", bytes(range(256)) * 100), "is no JSON: line 1"
    yield file("other.json", b"{}"), '"format" is missing'
    yield file("deep.json", b"[" * 100_000), "is no JSON: line 1"
    yield changed("new.json", lambda r: r.update(version=2)), '"version" is 2'
    yield changed("lacking.json", lambda r: r["plan"].pop("clients")), '"plan.clients" is missing'
    yield changed("wrong.json", lambda r: r["requests"].update(answered="many")), \
        '"requests.answered" must be a whole number'
    yield changed("cut.json", lambda r: r["times_us"]["wait"].update(hdr="HISTFAAA")), \
        '"times_us.wait.hdr" cannot be read'


def test_a_wrong_file_is_one_sentence_that_names_file_and_member(saved, tmp_path):
    for path, sentence in wrong_files(tmp_path, saved[0]):
        done = report(path, code=2)
        assert done.out == "" and done.err.count("\n") == 1, done.err
        assert done.err.startswith("rivulet report: "), done.err
        assert str(path) in done.err and sentence in done.err, done.err


def test_a_report_that_cannot_be_written_is_told(saved):
    path, _ = saved
    done = report("-o", "/nowhere/report.txt", path, code=2)
    assert done.err == \
        "rivulet report: cannot write /nowhere/report.txt: No such file or directory\n"
    done = report("--format", "json", "-o", "/dev/full", path, code=2)
    assert done.err == "rivulet report: cannot write /dev/full: No space left on device\n"


def test_the_page_names_what_help_names():
    page = (ROOT / "docs" / "man" / "rivulet-report.1").read_text(encoding="utf-8")
    done = report("--help")
    for word in ("format", "output", "help"):
        assert f"--{word}" in done.out and f"Fl Fl {word}" in page
    for form in ("text", "json", "csv", "ab", "cherrypy"):
        assert form in done.out and f".It Cm {form}" in page


# ---- results of other commands -------------------------------------------------------------------

def test_a_row_of_a_sweep_is_a_result(demo, tmp_path):
    path = tmp_path / "sweep.json"
    rivulet("sweep", "-n", 40, "--clients", 2, "-o", path, demo.url("/ok"))
    row = load(path)["rows"][0]
    check(row["result"])
    assert row["result"]["requests"]["answered"] == row["completed"] == 40
    assert "200: 40" in report("-", input=json.dumps(row["result"])).out


def test_what_ab_saves_is_a_result(demo, tmp_path):
    path = tmp_path / "ab.json"
    printed = rivulet("ab", "-q", "-k", "-n", 40, "-c", 2, "--save", path, demo.url("/ok")).out
    check(load(path))
    again = report("--format", "ab", path).out
    assert again in printed
    assert re.search(r"^Keep-Alive requests:    40$", again, re.M)


def test_samples_are_saved_when_ab_takes_them(demo, tmp_path):
    path = tmp_path / "ab.json"
    rivulet("ab", "-q", "-n", 10, "-c", 2, "-g", tmp_path / "plot", "--save", path,
            demo.url("/ok"))
    result = load(path)
    check(result)
    assert len(result["samples"]) == 10
    assert {sample["status"] for sample in result["samples"]} == {200}
    assert load(path) == json.loads(report("--format", "json", path).out)
