"""Pages that list the kinds of plugins list all of them, as they are."""

from __future__ import annotations

import re
from pathlib import Path

from mqframe.hooks.kinds import KINDS
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS

HOWTO = Path(__file__).parents[2] / "docs/howto"
EXPLANATION = Path(__file__).parents[2] / "docs/explanation"


def test_who_packages_a_plugin_is_shown_the_hook_and_the_interface_of_each_kind() -> None:
    page = (HOWTO / "package.md").read_text()
    rows = re.findall(r"^\|`(\w+)`\|`(\w+)`\|(.+)\|$", page, re.MULTILINE)
    assert {name: hook for name, hook, _ in rows} == {kind.name: kind.hook for kind in KINDS.values()}
    shown = {name: interface.strip("`") for name, _, interface in rows}
    for kind in KINDS.values():
        assert shown[kind.name] == (
            "a Typer application" if kind.interface is None else kind.interface.__name__
        )


def test_the_explanation_knows_all_kinds_and_the_plugins_of_this_project() -> None:
    page = (EXPLANATION / "plugins.md").read_text()
    rows = re.findall(r"^\|(`\w+`(?:, `\w+`)*)\|[^|]+\|(.*)\|$", page, re.MULTILINE)
    shown = {name: there for names, there in rows for name in re.findall(r"\w+", names)}
    assert shown.keys() >= KINDS.keys()
    for kind, name in KNOWN_DISTRIBUTIONS:
        there = shown[kind]
        assert f"`{name}`" in there or " more" in there, f"{kind}.{name}"
