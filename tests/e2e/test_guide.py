"""The guide shows the programs of examples/ as they are, and all of them."""

import re

import pytest

from support.server import ROOT

TEXT = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
EXAMPLES = {path.name: path.read_text(encoding="utf-8")
            for path in (ROOT / "examples").glob("*.c")}


def cut_out():
    """(example, code) for each piece of code whose introduction names an example: the paragraph right before
    it, or before the pieces that it follows."""
    pieces, sources = [], []
    for before, code in re.findall(r"(.*?)^```c\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE):
        introduction = before.strip().split("\n\n")[-1]
        if introduction:
            sources = re.findall(r"`examples/(\w+\.c)`", introduction)
        pieces += [(source, code) for source in sources]
    return pieces


@pytest.mark.parametrize("example, code", cut_out(),
                         ids=[f"{example}-{index}" for index, (example, _) in enumerate(cut_out())])
def test_what_is_shown_of_an_example_is_in_it_word_for_word(example, code):
    assert code in EXAMPLES[example]


@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_the_guide_names_every_example(example):
    assert f"`examples/{example}`" in TEXT and f"| `{example}` |" in TEXT


@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_an_example_is_under_sixty_lines(example):
    assert EXAMPLES[example].count("\n") < 60


def test_links_within_the_guide_lead_somewhere():
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]+)\)", TEXT))
    assert links and links <= anchors
