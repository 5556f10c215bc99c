"""How the key of a message is told."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from mqframe_keyed import KEY_PROPERTY, KeyedOptions
from mqframe_keyed.keys import key_function
from mqframe_testing.consuming import received

from mqframe.core.errors import FixError, SettingError
from mqframe.core.messages.properties import KEYS, SHARDING_KEY, TAGS
from mqframe.hooks.options import build

MESSAGE = received(
    0, b"body", **{KEY_PROPERTY: "ann", KEYS: "i-1 i-2", TAGS: "paid", "shop": "north", "empty": ""}
)


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("sharding_key", "ann"),
        ("keys", "i-1 i-2"),
        ("tag", "paid"),
        ("property shop", "north"),
        ("property empty", None),
        (lambda message: message.body[:1], b"b"),
    ],
)
def test_the_key_is_what_the_option_names(key, found) -> None:
    assert key_function(KeyedOptions(key=key))(MESSAGE) == found


def test_what_a_sender_by_grpc_said_counts_as_a_sharding_key() -> None:
    assert key_function(KeyedOptions())(received(0, **{SHARDING_KEY: "bob"})) == "bob"


@pytest.mark.parametrize("key", ["sharding_key", "keys", "tag", "property shop"])
def test_a_message_without_it_has_no_key(key: str) -> None:
    assert key_function(KeyedOptions(key=key))(received(0)) is None


def test_a_function_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("keys_of_shop")
    module.customer = lambda message: message.properties["shop"]  # type: ignore[attr-defined]
    module.number = 7  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keys_of_shop", module)
    assert key_function(KeyedOptions(key="keys_of_shop:customer"))(MESSAGE) == "north"
    with pytest.raises(FixError, match="'keys_of_shop:number' of mode keyed is a int, not a function"):
        key_function(KeyedOptions(key="keys_of_shop:number"))
    with pytest.raises(FixError, match="'keys_of_shop:none' of mode keyed cannot be loaded"):
        key_function(KeyedOptions(key="keys_of_shop:none"))
    with pytest.raises(FixError, match="'no_such_module:f' of mode keyed cannot be loaded"):
        key_function(KeyedOptions(key="no_such_module:f"))


@pytest.mark.parametrize("key", ["", "customer", "property", "property  "])
def test_any_other_word_is_refused(key: str) -> None:
    with pytest.raises(SettingError, match="of mode keyed: choose one of sharding_key, keys, tag"):
        key_function(KeyedOptions(key=key))


def test_options_come_from_tables_and_are_checked() -> None:
    class Factory:
        Options = KeyedOptions

    made = build("keyed", Factory, {"key": "tag", "without_key": "together"})
    assert made == KeyedOptions("tag", "together")
    assert callable(build("keyed", Factory, {"key": len}).key)
    with pytest.raises(SettingError, match="without_key"):
        build("keyed", Factory, {"without_key": "dropped"})
    with pytest.raises(SettingError, match="key"):
        build("keyed", Factory, {"key": 7})
