"""Pages that list the kinds of plugins list all of them, as they are."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mqframe.hooks.built_in import BUILT_IN
from mqframe.hooks.kinds import KINDS
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS

HOWTO = Path(__file__).parents[2] / "docs/howto"
EXPLANATION = Path(__file__).parents[2] / "docs/explanation"


@pytest.fixture
def generate(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(EXPLANATION.parent), *sys.path])
    return __import__("generate")


def test_who_packages_a_plugin_is_shown_the_hook_and_the_interface_of_each_kind() -> None:
    page = (HOWTO / "package.md").read_text()
    rows = re.findall(r"^\|`(\w+)`\|`(\w+)`\|(.+)\|$", page, re.MULTILINE)
    assert {name: hook for name, hook, _ in rows} == {kind.name: kind.hook for kind in KINDS.values()}
    shown = {name: interface.strip("`") for name, _, interface in rows}
    for kind in KINDS.values():
        assert shown[kind.name] == (
            "a Typer application" if kind.interface is None else kind.interface.__name__
        )


def test_the_explanation_knows_all_kinds_and_the_plugins_of_this_project(generate: ModuleType) -> None:
    rows = re.findall(r"^\|\[`(\w+)`\]\(([^)]+)\)\|([^|]+)\|(.*)\|$", generate.kinds_table(), re.MULTILINE)
    shown = {kind: re.findall(r"`([^`]+)`", there) for kind, _, _, there in rows}
    assert shown.keys() == KINDS.keys()
    for kind, names in shown.items():
        assert sorted(names) == sorted(name for of, name in [*KNOWN_DISTRIBUTIONS, *BUILT_IN] if of == kind)
    for _, page, does, _ in rows:
        assert (EXPLANATION / page).resolve().exists()
        assert does.strip()


def test_the_explanation_has_a_place_for_both_tables() -> None:
    page = (EXPLANATION / "plugins.md").read_text()
    assert re.findall(r"^\{(\w+)\}$", page, re.MULTILINE) == ["kinds", "distributions"]
