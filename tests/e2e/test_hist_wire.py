"""Histograms that go from our code to hdr-histogram-js and back: both must see the same in them."""

import math
import pathlib
import random
import shutil
import subprocess

import pytest

from support.server import ROOT, program, sanitizer_environment

pytestmark = pytest.mark.slow

HDR = ROOT / "tests" / "hdr"
HOUR_US = 3_600_000_000
PERCENTS = (1, 25, 50, 75, 90, 99, 99.9, 99.99)


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, encoding="ascii", timeout=120,
                          env=sanitizer_environment())
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def js(tmp_path_factory):
    """The command that runs hdr_tool.js, with its package installed outside the tree."""
    folder = tmp_path_factory.mktemp("hdr")
    for name in ("package.json", "package-lock.json", "hdr_tool.js"):
        shutil.copy(HDR / name, folder)
    installed = subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
        capture_output=True, encoding="utf-8", timeout=240)
    assert installed.returncode == 0, installed.stderr
    return ["node", str(pathlib.Path(folder) / "hdr_tool.js")]


@pytest.fixture(scope="module")
def ours():
    return [program("tests/hist_tool")]


def uniform(rng):
    return rng.randrange(1, 50_000)


def any_size(rng):
    return min(HOUR_US, int(2 ** rng.uniform(0, 32)))


def two_peaked(rng):
    return rng.randrange(180, 220) + (1_000_000 if rng.random() < 0.01 else 0)


def exponential(rng):
    return 1 + int(rng.expovariate(1 / 3000))


def single(_rng):
    return 123_457


def made_of(distribution, length=20_000):
    """Values and how often each: now and then very often. 0 is among them, unless there is but one."""
    rng = random.Random(distribution.__name__)
    counts = {} if distribution is single else {0: 3}
    for _ in range(length):
        value = distribution(rng)
        counts[value] = counts.get(value, 0) + (1 if rng.random() < 0.999 else 2 ** rng.randrange(16))
    return counts


def lines(counts):
    return "".join(f"{value} {count}\n" for value, count in counts.items())


def told(output):
    """The tools' words as a dictionary, the places apart; and the smallest value, which 0 can be to one
    tool and not to the other. hdr-histogram-js names the end of the last place, even where that is
    above the highest value there is: here it is that value."""
    words = [line.rsplit(" ", 1) for line in output.splitlines()]
    places = {name: int(count) for name, count in words if name.startswith("at ")}
    rest = {name: float(value) for name, value in words if not name.startswith("at ")}
    smallest = rest.pop("min")
    for name, value in rest.items():
        if name == "max" or name.startswith("p"):
            rest[name] = min(value, rest["highest"])
    return rest, places, smallest


def assert_same(left, right):
    left_rest, left_places, _ = told(left)
    right_rest, right_places, _ = told(right)
    assert left_places == right_places
    assert left_rest.pop("mean") == pytest.approx(right_rest.pop("mean"), rel=1e-9)
    assert left_rest == right_rest


def exact_percentile(counts, percent):
    rank = math.ceil(round(percent * sum(counts.values()) / 100, 6))
    for value in sorted(counts):
        rank -= counts[value]
        if rank <= 0:
            return value
    raise AssertionError("no such rank")


DISTRIBUTIONS = (uniform, any_size, two_peaked, exponential, single)


@pytest.mark.parametrize("digits", (1, 2, 3, 4, 5))
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda d: d.__name__)
def test_hdr_histogram_js_reads_what_we_write(js, ours, distribution, digits):
    counts = made_of(distribution)
    text = run(ours + ["encode", str(digits), str(HOUR_US)], lines(counts))
    theirs = run(js + ["decode"], text)
    assert_same(run(ours + ["decode"], text), theirs)

    rest, _, smallest = told(theirs)
    error = 10 ** -digits
    assert rest["count"] == sum(counts.values())
    assert rest["digits"] == digits and rest["highest"] == HOUR_US
    assert smallest == pytest.approx(min(value for value in counts if value > 0), rel=error)
    assert rest["max"] == pytest.approx(max(counts), rel=error)
    for percent in PERCENTS:
        assert rest[f"p{percent}"] == pytest.approx(exact_percentile(counts, percent), rel=error)


@pytest.mark.parametrize("digits", (1, 3, 5))
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda d: d.__name__)
def test_we_read_what_hdr_histogram_js_writes(js, ours, distribution, digits):
    counts = made_of(distribution)
    text = run(js + ["encode", str(digits), str(HOUR_US)], lines(counts))
    mine = run(ours + ["decode"], text)
    assert_same(mine, run(js + ["decode"], text))
    assert mine == run(ours + ["decode"], run(ours + ["encode", str(digits), str(HOUR_US)],
                                              lines(counts)))


@pytest.mark.parametrize("highest", (2, 2047, 2048, 60_000_000, HOUR_US, 2 ** 50))
def test_empty_histograms_are_read_by_both(js, ours, highest):
    for writer in (js, ours):
        text = run(writer + ["encode", "3", str(highest)], "")
        rest, places, _ = told(run(ours + ["decode"], text))
        assert rest["count"] == 0 and rest["highest"] == highest and places == {}
        rest, places, _ = told(run(js + ["decode"], text))
        assert rest["count"] == 0 and rest["highest"] == highest and places == {}


def test_large_counts_are_read_by_both(js, ours):
    counts = {2 ** i: 2 ** i - i % 2 for i in range(1, 27)}
    for writer in (js, ours):
        text = run(writer + ["encode", "3", str(HOUR_US)], lines(counts))
        assert_same(run(ours + ["decode"], text), run(js + ["decode"], text))
