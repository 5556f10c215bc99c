"""Options of plugins: declared as an attrs class, described for people, checked before a factory runs."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from mqframe.core.config.settings import setting, settings
from mqframe.core.errors import PluginError, SettingError
from mqframe.hooks.interfaces import CutBack
from mqframe.hooks.options import OptionInfo, build, declared_class, describe, options_class, settings_class


class Nodes:
    """A factory with options."""

    @attrs.frozen
    class Options:
        label: str = attrs.field(metadata={"doc": "what it is called"})
        count: int = 10


class Plain:
    """A factory without options."""


class Wrong:
    """A factory whose options are no attrs class."""

    Options = {"count": 10}


def test_options_are_described_in_their_order() -> None:
    assert describe(Nodes) == (
        OptionInfo("label", "str", "", "what it is called"),
        OptionInfo("count", "int", "10", ""),
    )
    assert describe(Plain) == ()


def test_a_table_becomes_an_instance_with_defaults_and_types() -> None:
    assert build("nodes", Nodes, {"label": "a"}) == Nodes.Options("a", 10)
    assert build("nodes", Nodes, {"label": "a", "count": "5"}) == Nodes.Options("a", 5)


def test_an_instance_is_taken_as_it_is() -> None:
    given = Nodes.Options("b", 3)
    assert build("nodes", Nodes, given) is given


def test_a_factory_without_options_takes_none() -> None:
    assert build("plain", Plain, None) is None
    assert build("plain", Plain, {}) is None
    with pytest.raises(SettingError, match="plugin plain takes no options, but got secret") as caught:
        build("plain", Plain, {"secret": "hidden"})
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "plugin nodes needs the option label"),
        (None, "plugin nodes needs the option label"),
        ({"label": "a", "size": 1}, "there is no option size of plugin nodes; its options: count, label"),
        ({"label": "a", "count": "many"}, "option count of plugin nodes = 'many'"),
        (["a"], "options of plugin nodes must be a table or a Nodes.Options, not a list"),
    ],
)
def test_what_is_wrong_is_named_with_the_plugin(given: Any, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        build("nodes", Nodes, given)
    assert message in str(caught.value)


def test_options_must_be_an_attrs_class() -> None:
    with pytest.raises(PluginError, match="Options must be an attrs class"):
        options_class(Wrong)


class Ranged:
    """Whose options are checked by attrs, and by themselves."""

    @attrs.define
    class Options:
        low: int = attrs.field(default=1, validator=attrs.validators.lt(10))
        high: int = attrs.field()
        key: str = attrs.field(default="", validator=attrs.validators.max_len(3), metadata={"secret": True})

        @high.default
        def _above(self) -> int:
            return self.low + 1

        def __attrs_post_init__(self) -> None:
            if self.low == 7:
                raise RuntimeError("seven")
            if self.low > self.high:
                raise ValueError("low is above high")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"low": 10}, "option low of plugin ranged: 'low' must be < 10: 10"),
        ({"low": 5, "high": 3}, "options of plugin ranged: low is above high"),
        ({"key": "letmein"}, "option key of plugin ranged: is refused"),
    ],
)
def test_what_the_class_of_options_refuses_is_a_setting(given: Any, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        build("ranged", Ranged, given)
    assert str(caught.value) == message


def test_a_class_of_options_that_fails_is_a_broken_plugin() -> None:
    with pytest.raises(PluginError, match="options of plugin ranged cannot be made: RuntimeError: seven"):
        build("ranged", Ranged, {"low": 7})


def test_a_default_may_depend_on_other_options() -> None:
    assert [each.default for each in describe(Ranged)] == ["1", "from other options", "''"]
    assert build("ranged", Ranged, {"low": 4}).high == 5


@settings("front_door")
class DoorSettings:
    """Settings of a service."""

    width: int = setting(1, doc="metres")


class Door:
    """A service with a section."""

    Settings = DoorSettings


def test_a_section_of_settings_is_called_as_its_service() -> None:
    assert settings_class("front-door", Door) is DoorSettings
    assert settings_class("front_door", Door) is DoorSettings
    assert settings_class("some.module:Door", Door) is DoorSettings
    assert settings_class("nodes", Nodes) is None
    with pytest.raises(PluginError, match="back_door: its Settings are the section front_door"):
        settings_class("back_door", Door)


def test_settings_that_are_no_section_are_refused() -> None:
    class Wrong:
        Settings = {"width": 1}

    with pytest.raises(PluginError, match=r"wrong: Settings must be a class made by settings\(...\)"):
        settings_class("wrong", Wrong)


def test_what_puts_back_is_a_class_that_can() -> None:
    class Back(CutBack):
        pass

    assert declared_class("x", type("F", (), {"CutBack": Back}), CutBack) is Back
    assert declared_class("x", type("F", (), {}), CutBack) is None
    with pytest.raises(PluginError, match="x: CutBack must be a class that inherits CutBack, not <class"):
        declared_class("x", type("F", (), {"CutBack": int}), CutBack)
