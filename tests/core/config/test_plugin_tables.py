"""Options of plugins, for everybody and for single sections."""

from __future__ import annotations

import pytest

from mqframe.core.config.layers import Given
from mqframe.core.config.plugin_tables import GivenOption, options_at, tables_of
from mqframe.core.errors import SettingError

PLACE = "module.of:Nearest"


def test_options_of_a_section_come_to_those_for_everybody() -> None:
    given = [
        GivenOption("", "ring", "nodes", 1, "a"),
        GivenOption("", "ring", "weight", 1, "a"),
        GivenOption("consumer", "ring", "nodes", 2, "b"),
        GivenOption("lite_pull", "ring", "nodes", 3, "c"),
    ]
    assert tables_of(given) == {"ring": {"nodes": 1, "weight": 1}}
    found = tables_of(given, "consumer")
    assert found == {"ring": {"nodes": 2, "weight": 1}}
    assert found["ring"].origins == {"nodes": "b", "weight": "a"}


@pytest.mark.parametrize(
    ("rest", "value"),
    [
        ("", {PLACE: {"by": 3}}),
        (PLACE, {"by": 3}),
        (f"{PLACE}.by", 3),
    ],
)
def test_an_option_is_found_at_any_depth(rest: str, value: object) -> None:
    path = f"consumer.plugins.{rest}".rstrip(".")
    assert list(options_at(path, rest, Given(path, value, "here"))) == [(PLACE, "by", 3)]


def test_what_is_no_table_is_refused_with_its_place() -> None:
    with pytest.raises(SettingError, match=r"consumer\.plugins from app\.toml: must be a table of options"):
        list(options_at("consumer.plugins", "", Given("consumer.plugins", 3, "app.toml")))
