"""The manual has every public function, with the very prototype that it has in the header."""

import re

from support.server import ROOT


def without_blanks(text):
    """Blanks mean nothing but between two words."""
    return re.sub(r" ?([*(),]) ?", r"\1", " ".join(text.split()))


def split_parameters(text):
    """At commas that are in no parentheses."""
    parameters, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parameters.append("")
        else:
            parameters[-1] += character
    return [without_blanks(parameter) for parameter in parameters]


def declared():
    """Name → result and parameters, as the header has them."""
    header = (ROOT / "include" / "rivulet.h").read_text(encoding="utf-8")
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    return {name: (without_blanks(result), split_parameters(parameters))
            for result, name, parameters in
            re.findall(r"^RV_API (.*?)\b(rv_\w+)\((.*?)\);", header, re.DOTALL | re.MULTILINE)}


def words(line):
    return [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', line)]


def read_page(page):
    """What a page names, and the prototypes of its synopsis."""
    names, prototypes, result, long_one = [], {}, "", None
    for line in page.read_text(encoding="utf-8").splitlines():
        macro, _, rest = line.partition(" ")
        if macro == ".Sh" and rest == "DESCRIPTION":
            break
        if macro == ".Nm":
            names.append(words(rest)[0])
        elif macro == ".Ft":
            result = without_blanks(" ".join(words(rest)))
        elif macro == ".Fn":
            name, *parameters = words(rest)
            prototypes[name] = result, [without_blanks(text) for text in parameters]
        elif macro == ".Fo":
            long_one = rest
            prototypes[long_one] = result, []
        elif macro == ".Fa" and long_one:
            prototypes[long_one][1].extend(without_blanks(text) for text in words(rest))
        elif macro == ".Fc":
            long_one = None
    return names, prototypes


def manual():
    names, prototypes = [], {}
    for page in sorted((ROOT / "docs" / "man").glob("*.3")):
        of_page, its_prototypes = read_page(page)
        names += of_page
        prototypes.update(its_prototypes)
    return names, prototypes


def test_every_public_function_is_named_by_one_page():
    names, _ = manual()
    functions = declared()
    assert len(functions) > 100
    missing = [name for name in functions if name not in names]
    assert not missing
    repeated = [name for name in functions if names.count(name) > 1]
    assert not repeated


def test_every_synopsis_has_the_prototypes_of_the_header():
    _, prototypes = manual()
    functions = declared()
    assert {name: prototypes.get(name) for name in functions} == functions
    strangers = [name for name in prototypes if name.startswith("rv_") and name not in functions]
    assert not strangers
