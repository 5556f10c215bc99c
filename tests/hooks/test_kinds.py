"""Every kind of plugin has its hook and its interface, and whoever brings a known name does bring it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from mqframe.core.errors import PluginError
from mqframe.hooks import specs
from mqframe.hooks.kinds import KINDS, kind_of
from mqframe.hooks.known_distributions import KNOWN_DISTRIBUTIONS

ROOT = Path(__file__).parents[2]


def offered() -> dict[tuple[str, str], str]:
    """The distribution that declares each (kind, name), from the projects in this repository."""
    found = {}
    for path in [*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")]:
        project = tomllib.loads(path.read_text())["project"]
        for entry in project.get("entry-points", {}).get("mqframe", {}):
            kind, _, name = entry.partition(".")
            found[kind, name] = project["name"]
    return found


def test_every_kind_is_registered_by_a_hook_of_its_own() -> None:
    hooks = [kind.hook for kind in KINDS.values()]
    assert len(set(hooks)) == len(hooks)
    declared = {name for name in vars(specs) if name.startswith("register_")}
    assert declared == set(hooks)


def test_known_names_are_what_the_projects_declare() -> None:
    assert dict(KNOWN_DISTRIBUTIONS) == offered()


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    assert kind_of("selector").interface is not None
    with pytest.raises(PluginError, match=r"no plugin kind 'nonsense'; kinds: allocation, .*, topic_summary"):
        kind_of("nonsense")
