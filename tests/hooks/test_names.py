"""Names that other distributions add to `mqframe`."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

import mqframe
from mqframe.hooks import names
from mqframe.hooks.known_distributions import KNOWN_NAMES


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """What is installed: nothing, until a test adds to it."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(names, "entry_points", lambda **of: found)
    names.offered_names.cache_clear()
    yield found
    names.offered_names.cache_clear()


def test_a_name_is_what_its_entry_point_leads_to(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("Pathway", "pathlib:PurePath", names.GROUP))
    assert names.load_name("Pathway").__name__ == "PurePath"
    assert "Pathway" in dir(mqframe)


def test_of_two_the_first_has_it(installed: list[EntryPoint]) -> None:
    installed += [EntryPoint("Pathway", f"pathlib:{each}", names.GROUP) for each in ("PurePath", "Path")]
    assert names.load_name("Pathway").__name__ == "PurePath"


def test_what_is_not_there_is_refused_with_what_to_install(
    installed: list[EntryPoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "KNOWN_NAMES", {**KNOWN_NAMES, "Pathway": "mqframe-plugin-paths"})
    with pytest.raises(AttributeError, match="install it with: pip install mqframe-plugin-paths"):
        names.load_name("Pathway")
    with pytest.raises(AttributeError, match="module 'mqframe' has no attribute 'Patway'"):
        names.load_name("Patway")


def test_standard_is_proposed_for_what_it_brings() -> None:
    line = names.install_line("mqframe-plugin-selectors")
    assert line == 'pip install "mqframe[standard]"; it alone: pip install mqframe-plugin-selectors'
