"""Which messages are shown."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from mqframe_cli.live.choice import choice_of, everything

from mqframe.core.errors import SettingError


def message(*keys: str, **properties: str) -> Any:
    return SimpleNamespace(keys=keys, properties=properties)


def test_without_a_wish_all_are_chosen() -> None:
    assert choice_of("", ()) is everything
    assert everything(message())


def test_one_of_the_keys_is_enough_and_a_part_of_one_is_not() -> None:
    chooses = choice_of("", ("a", "b"))
    assert [chooses(message(*keys)) for keys in ((), ("a",), ("c", "b"), ("ab",))] == [
        False,
        True,
        True,
        False,
    ]


def test_an_expression_that_is_unknown_or_false_chooses_nothing() -> None:
    chooses = choice_of("amount > 10", ())
    assert chooses(message(amount="11"))
    assert not chooses(message(amount="10"))
    assert not chooses(message())
    assert not chooses(message(amount="much"))


def test_an_expression_and_keys_have_to_hold_together() -> None:
    chooses = choice_of("region = 'north'", ("a",))
    assert chooses(message("a", region="north"))
    assert not chooses(message("b", region="north"))
    assert not chooses(message("a", region="south"))


def test_what_is_wrong_with_an_expression_is_told_with_the_place() -> None:
    with pytest.raises(SettingError, match=r"--where: SQL92 expression, character \d+"):
        choice_of("amount >", ())
