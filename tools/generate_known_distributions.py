"""Writes `mqframe/hooks/known_distributions.py`: what each distribution of this repository offers.

    python tools/generate_known_distributions.py [--check]

It is taken from the `pyproject.toml` files, and from the requests that sources declare, so that errors can
say what to install for what is missing.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
WORDS_WIDTH: Final = 90
"""Characters of a line with many names."""
MODULE: Final = ROOT / "mqframe/hooks/known_distributions.py"
HEAD: Final = '''"""Which of this project's distributions brings what, for the install line of error messages.

Generated from projects and sources of packages and plugins by tools/generate_known_distributions.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
'''


def folders() -> list[Path]:
    """Where all distributions but the kernel's are."""
    found = [*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]
    return [path.parent for path in sorted(found)]


def project(folder: Path) -> dict[str, Any]:
    """The table `[project]` of the distribution in `folder`."""
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def tools(folder: Path) -> dict[str, Any]:
    """The table `[tool]` of the distribution in `folder`."""
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("tool", {})
    return found


def projects() -> list[dict[str, Any]]:
    """The tables `[project]` of all distributions but the kernel's, in the order of their folders."""
    return list(map(project, folders()))


def requests_in(text: str) -> list[int]:
    """The codes of the request kinds that a source declares, by `@request(code, …)`."""
    return [
        mark.args[0].value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
        for mark in node.decorator_list
        if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "request"
        if mark.args and isinstance(mark.args[0], ast.Constant) and isinstance(mark.args[0].value, int)
    ]


def known_requests() -> dict[int, str]:
    """The distribution by the code of each request kind that it declares, or is said to serve.

    `[tool.mqframe] serves` has the codes of those that others declare, since they send them, too.
    """
    declared = {
        code: project(folder)["name"]
        for folder in folders()
        for source in sorted(folder.glob("src/**/*.py"))
        for code in requests_in(source.read_text("utf-8"))
    }
    return declared | {
        code: project(folder)["name"]
        for folder in folders()
        for code in tools(folder).get("mqframe", {}).get("serves", ())
    }


def by_distribution(known: Mapping[Any, str], words: str) -> list[str]:
    """What is between the braces of a mapping of many `known` things: a text for each distribution.

    `words`: how the things are read from the variable `names`, which holds such a text.
    """
    said: dict[str, list[str]] = {}
    for thing, distribution in known.items():
        said.setdefault(distribution, []).append(str(thing))
    lines = ["name: distribution", "for distribution, names in {"]
    for distribution, things in said.items():
        rows = wrap(" ".join(things), WORDS_WIDTH)
        texts = [repr(row + " ") for row in rows[:-1]] + [repr(rows[-1])]
        lines += [f"{distribution!r}: (", *texts, "),"] if rows[1:] else [f"{distribution!r}: {texts[0]},"]
    return [*lines, "}.items()", f"for name in {words}"]


def text() -> str:
    """The module, formatted."""
    offered = [
        (project["name"], name)
        for project in projects()
        for name in project.get("entry-points", {}).get("mqframe", {})
    ]
    lines = [HEAD, "KNOWN_DISTRIBUTIONS: Final[Mapping[tuple[str, str], str]] = {"]
    for distribution, offer in offered:
        kind, _, name = offer.partition(".")
        lines.append(f"({kind!r}, {name!r}): {distribution!r},")
    lines += ["}", '"""The distribution by kind and name of what it offers."""', ""]
    names = {
        name: project["name"]
        for project in projects()
        for name in project.get("entry-points", {}).get("mqframe.names", {})
    }
    lines += ["KNOWN_NAMES: Final[Mapping[str, str]] = {", *by_distribution(names, "names.split()")]
    lines += ["}", '"""The distribution by what it adds to the names of `mqframe`."""', ""]
    lines += ["KNOWN_CLIENT_PARTS: Final[Mapping[str, str]] = {"]
    for project in projects():
        for name in project.get("entry-points", {}).get("mqframe.client_parts", {}):
            lines.append(f"{name!r}: {project['name']!r},")
    lines += ["}", '"""The distribution by the parts of clients that it brings."""', ""]
    codes = dict(sorted(known_requests().items()))
    lines += [
        "KNOWN_REQUESTS: Final[Mapping[int, str]] = {",
        *by_distribution(codes, "map(int, names.split())"),
    ]
    lines += ["}", '"""The distribution by the code of a request that it declares, or alone serves."""', ""]
    lines += ["KNOWN_SECTIONS: Final[Mapping[tuple[str, str], str]] = {"]
    for project in projects():
        for offer in project.get("entry-points", {}).get("mqframe.sections", {}):
            program, _, section = offer.partition(".")
            lines.append(f"({program!r}, {section!r}): {project['name']!r},")
    lines += [
        "}",
        '"""The distribution by the program and the section of settings that it adds there."""',
        "",
    ]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    ours = {project["name"] for project in projects()}
    standard = sorted(ours & set(extras["standard"]))
    lines += [f"STANDARD: Final = frozenset({standard!r})"]
    lines += ['"""Distributions that the extra `standard` brings to every machine."""']
    formatting = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(MODULE), "-"]
    done = subprocess.run(formatting, input="\n".join(lines), capture_output=True, text=True, check=True)
    return done.stdout


def main() -> int:
    """Write it, or with `--check` fail where it is out of date."""
    wanted = text()
    if "--check" in sys.argv[1:]:
        if MODULE.exists() and MODULE.read_text("utf-8") == wanted:
            return 0
        print(f"{MODULE.relative_to(ROOT)} is out of date; run: python tools/generate_known_distributions.py")
        return 1
    MODULE.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
