"""The page about what an application can rely on names facts that there are."""

import re

from support.server import ROOT

FACT = re.compile(r"`(test_\w+): (\w+)`")


def named():
    page = (ROOT / "docs" / "internals" / "applications.md").read_text(encoding="utf-8")
    return sorted(set(FACT.findall(page)))


def test_every_fact_that_is_named_is_a_test():
    texts = {path.stem: [] for path in (ROOT / "tests").rglob("test_*.*")}
    for path in (ROOT / "tests").rglob("test_*.*"):
        if path.suffix in (".c", ".py"):
            texts[path.stem].append(path.read_text(encoding="utf-8"))
    facts = named()
    assert len(facts) > 50
    missing = [f"{file}: {fact}" for file, fact in facts
               if not any(re.search(rf"cmocka_unit_test\w*\(\s*{fact}\b|\b[A-Z]+\({fact}\)|def {fact}\(", text)
                          for text in texts.get(file, []))]
    assert not missing, missing


def test_every_promise_has_a_fact():
    page = (ROOT / "docs" / "internals" / "applications.md").read_text(encoding="utf-8")
    promises = [line for line in page.splitlines() if line.startswith("| ") and "held by" not in line]
    assert promises and all(FACT.search(line) for line in promises)
