"""Settings that have moved: old names in every source, conflicts, and what people are told."""

from __future__ import annotations

from typing import Any

import pytest
from conf_files import broker_conf
from core.config.handed_in import arguments

from mqframe.core.config.configuration import Resolved, resolve
from mqframe.core.config.layers import command_line, environment, toml
from mqframe.core.config.settings import at_least, setting, settings
from mqframe.core.errors import SettingError


@settings("broker")
class Broker:
    """A broker."""

    port: int = setting(10911, doc="port", conf="listenPort")


@settings("pop")
class Pop:
    """Pops."""

    stay_ms: int = setting(
        10_000, doc="how long", check=at_least(1), conf="popCkStayBufferTime", was="broker.pop_stay_ms"
    )
    marks: dict[str, int] = setting(factory=dict, doc="some", was="broker.pop_marks")
    key: str = setting("", doc="hidden", secret=True, was="broker.pop_key")
    often: int = setting(1, doc="times", was=("broker.pop_often", "store.often"))


def resolved(*layers: Any, profile: str = "") -> Resolved:
    profiles = {"broker": profile, "pop": profile}
    return resolve([Broker, Pop], layers, profiles=profiles, missing_profiles=True)


def stay(*layers: Any, profile: str = "") -> tuple[int, str]:
    found = resolved(*layers, profile=profile)
    (origin,) = [entry.origin for entry in found.entries if entry.path == "pop.stay_ms"]
    return found.section(Pop).stay_ms, origin


@pytest.mark.parametrize(
    ("layer", "origin"),
    [
        (toml("[broker]\npop_stay_ms = 7", "a.toml"), "a.toml [broker]"),
        (environment({"MQFRAME_BROKER_POP_STAY_MS": "7"}), "variable MQFRAME_BROKER_POP_STAY_MS"),
        (command_line(["broker.pop_stay_ms=7"]), "command line --set broker.pop_stay_ms"),
        (arguments({"broker.pop_stay_ms": 7}), "argument broker.pop_stay_ms"),
    ],
    ids=["file", "variable", "command line", "argument"],
)
def test_an_old_name_goes_on_working_and_says_where_the_setting_is(layer: Any, origin: str) -> None:
    assert stay(layer) == (7, f"{origin}, by its old name broker.pop_stay_ms")
    assert resolved(layer).warnings == (
        f"old names of settings, which have moved: broker.pop_stay_ms (from {origin}) is pop.stay_ms",
    )


@pytest.mark.parametrize("old", ["broker.pop_often", "store.often"])
def test_a_setting_that_moved_twice_is_known_by_both_old_names(old: str) -> None:
    found = resolved(command_line([f"{old}=3"]))
    assert found.section(Pop).often == 3
    assert found.warnings == (
        f"old names of settings, which have moved: {old} (from command line --set {old}) is pop.often",
    )


def test_new_names_and_rocketmq_s_keys_are_told_nothing() -> None:
    for layer in (
        toml("[pop]\nstay_ms = 7", "a.toml"),
        environment({"MQFRAME_POP_STAY_MS": "7"}),
        broker_conf("popCkStayBufferTime=7", "broker.conf"),
    ):
        assert stay(layer)[0] == 7
        assert resolved(layer).warnings == ()


def test_an_old_name_counts_in_the_profile_of_its_section() -> None:
    text = "[broker]\npop_stay_ms = 7\n[broker.broker-b]\npop_stay_ms = 8\n"
    assert stay(toml(text, "a.toml"))[0] == 7
    assert stay(toml(text, "a.toml"), profile="broker-b")[0] == 8
    variable = environment({"MQFRAME_BROKER_BROKER_B__POP_STAY_MS": "9"})
    assert stay(toml(text, "a.toml"), variable, profile="broker-b")[0] == 9


def test_a_stronger_source_wins_by_either_name() -> None:
    file = toml("[broker]\npop_stay_ms = 7", "a.toml")
    assert stay(file, command_line(["pop.stay_ms=8"]))[0] == 8
    newer = toml("[pop]\nstay_ms = 7", "a.toml")
    assert stay(newer, environment({"MQFRAME_BROKER_POP_STAY_MS": "8"}))[0] == 8


@pytest.mark.parametrize(
    "text", ["[broker]\npop_stay_ms = 7\n[pop]\nstay_ms = 8", "[pop]\nstay_ms = 8\n[broker]\npop_stay_ms = 7"]
)
def test_two_values_in_one_source_are_an_error_that_names_both(text: str) -> None:
    with pytest.raises(SettingError) as caught:
        resolved(toml(text, "a.toml"))
    said = str(caught.value)
    assert "broker.pop_stay_ms = 7 from a.toml [broker]" in said
    assert "pop.stay_ms = 8 from a.toml [pop]" in said
    assert said.endswith("are the same setting: leave broker.pop_stay_ms out, which is its old name")


def test_two_keys_of_the_command_line_are_one_source() -> None:
    with pytest.raises(
        SettingError, match=r"popCkStayBufferTime = 8 from .* and broker\.pop_stay_ms = 7 from"
    ):
        resolved(command_line(["popCkStayBufferTime=8", "broker.pop_stay_ms=7"]))


def test_the_same_value_twice_is_no_conflict() -> None:
    both = toml("[broker]\npop_stay_ms = 7\n[pop]\nstay_ms = 7", "a.toml")
    assert stay(both)[0] == 7


def test_secrets_are_kept_in_a_conflict() -> None:
    with pytest.raises(SettingError) as caught:
        resolved(toml('[broker]\npop_key = "abc"\n[pop]\nkey = "def"', "a.toml"))
    assert "(secret)" in str(caught.value)
    assert "abc" not in str(caught.value)
    assert "def" not in str(caught.value)


def test_a_bad_value_is_named_as_it_was_written() -> None:
    with pytest.raises(SettingError, match=r"broker\.pop_stay_ms = 'long' from a\.toml \[broker\]: must be"):
        resolved(toml('[broker]\npop_stay_ms = "long"', "a.toml"))
    with pytest.raises(
        SettingError, match=r"pop\.stay_ms = 0: must be at least 1 \(from a\.toml \[broker\]\)"
    ):
        resolved(toml("[broker]\npop_stay_ms = 0", "a.toml"))


def test_who_has_not_the_new_section_knows_no_old_name() -> None:
    with pytest.raises(SettingError, match=r"broker\.pop_stay_ms from a\.toml \[broker\] is no setting"):
        resolve([Broker], [toml("[broker]\npop_stay_ms = 7", "a.toml")])
