"""What is said of names that nothing has."""

from __future__ import annotations

from mqframe.core.config.unknown import UnknownName, hint, unknown_name
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
