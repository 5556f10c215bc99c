"""What is said of names that nothing has."""

from __future__ import annotations

import pytest

from mqframe.core.config.unknown import UnknownName, hint, refuse_absent, unknown_name
from mqframe.core.errors import SettingError


def test_what_was_probably_meant_is_named() -> None:
    problem = unknown_name("pop.stay", "a.toml [pop]", ["pop.stay_ms", "store.flush"], "setting")
    assert isinstance(problem, UnknownName)
    assert isinstance(problem, SettingError)
    assert str(problem) == (
        "pop.stay from a.toml [pop] is no setting that is known here; did you mean pop.stay_ms?"
    )


def test_of_a_section_its_name_alone_is_compared() -> None:
    problem = unknown_name("popp.stay_ms", "a.toml [popp]", ["pop", "store"], "section")
    assert str(problem).endswith("is no section that is known here; did you mean pop?")


def test_where_nothing_is_near_all_are_listed_unless_they_are_many() -> None:
    assert hint("zzz", ["pop", "delay"]) == "; known: delay, pop"
    assert hint("zzz", []) == "; known: none"
    assert hint("zzz", [f"name{number}" for number in range(41)]) == ""


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("pop.stay_ms", "a.toml [pop]"),
        ("pop.broker-a.stay_ms", "a.toml [pop.broker-a]"),
        ("MQFRAME_POP_STAY_MS", "the environment"),
    ],
)
def test_of_what_is_not_installed_it_is_told_what_to_do(name: str, origin: str) -> None:
    with pytest.raises(UnknownName) as refused:
        refuse_absent(name, origin, {"delay": "no delay", "pop": "install it"})
    assert str(refused.value) == f"{name} from {origin}: install it"


def test_what_is_called_alike_is_not_meant() -> None:
    for name in ("popper.stay_ms", "pop", "MQFRAME_POPPER_STAY_MS", "POP_STAY_MS"):
        refuse_absent(name, "a.toml", {"pop": "install it"})
