"""Sections of settings that other distributions add to programs."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint

import pytest

from mqframe.core.config.programs import ALL_SECTIONS
from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import PluginError
from mqframe.hooks import sections
from mqframe.hooks.sections import (
    added_sections,
    load_section,
    missing_sections,
    section_names,
    sections_of_others,
)

KNOWN = {
    ("nameserver", "weather"): "mqframe-plugin-weather",
    ("broker", "weather"): "mqframe-plugin-weather",
    ("client", "moods"): "mqframe-plugin-moods",
}


@settings("weather")
class WeatherSettings:
    """Where the weather is."""

    place: str = setting("here", doc="where")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """What is installed: nothing, until a test adds to it."""
    found: list[EntryPoint] = []
    monkeypatch.setattr(sections, "entry_points", lambda **of: found)
    monkeypatch.setattr(sections, "KNOWN_SECTIONS", KNOWN)
    sections._offered.cache_clear()
    yield found
    sections._offered.cache_clear()


def weather(*programs: str, name: str = "WeatherSettings") -> list[EntryPoint]:
    return [EntryPoint(f"{each}.weather", f"{__name__}:{name}", sections.GROUP) for each in programs]


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let entry points find this module by its name."""
    import sys

    module = type(sys)(__name__)
    vars(module).update(globals())
    monkeypatch.setitem(sys.modules, __name__, module)


def test_a_program_has_what_is_added_to_it_and_a_server_what_its_parts_have(
    installed: list[EntryPoint],
) -> None:
    installed += weather("broker")
    assert list(added_sections("broker")) == list(added_sections("server")) == ["weather"]
    assert not added_sections("nameserver")
    assert list(added_sections()) == ["weather"]


@pytest.mark.usefixtures("importable")
def test_a_section_is_its_class(installed: list[EntryPoint]) -> None:
    installed += weather("broker")
    assert load_section("weather").SECTION == "weather"
    with pytest.raises(KeyError):
        load_section("moods")


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize(
    ("name", "told"), [("Nothing", "cannot be loaded: AttributeError"), ("KNOWN", "must be a class made by")]
)
def test_one_that_is_broken_is_told_of(installed: list[EntryPoint], name: str, told: str) -> None:
    installed += weather("broker", name=name)
    with pytest.raises(PluginError, match=f"^section weather of {__name__}:{name} {told}"):
        load_section("weather")


def test_what_is_missing_comes_with_what_to_install(installed: list[EntryPoint]) -> None:
    line = "pip install mqframe-plugin-weather"
    assert missing_sections("server") == missing_sections("broker") == {"weather": line}
    assert missing_sections("client") == {"moods": "pip install mqframe-plugin-moods"}
    installed += weather("nameserver", "broker")
    sections._offered.cache_clear()
    assert not missing_sections("server")


def test_a_program_passes_over_what_others_have_or_would_have(installed: list[EntryPoint]) -> None:
    assert sections_of_others("broker") == {"moods"}
    assert sections_of_others("client") == {"weather"}
    installed += weather("broker")
    sections._offered.cache_clear()
    assert sections_of_others("broker") == {"moods"}
    assert sections_of_others("client") == {"weather"}
    assert section_names() == ALL_SECTIONS | {"weather", "moods"}
