"""What has to change, from what is stated and what is there."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_definitions.planning import Action, Change, planned


class Spec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: int = 8
    colour: str = "red"
    secret: str = ""


def changes(wanted, have, **more) -> list[Change]:
    return planned("things", Spec, wanted, have, **more)


def test_what_is_not_there_is_made_with_what_the_file_states_and_defaults() -> None:
    (made,) = changes({"a": {"size": 4}}, {})
    assert (made.kind, made.name, made.action) == ("things", "a", Action.CREATE)
    assert made.fields == {"size": ("none", "4")}
    assert made.wanted == Spec(4, "red")


def test_what_is_there_keeps_what_the_file_does_not_state() -> None:
    (made,) = changes({"a": {"size": 4}}, {"a": {"": Spec(8, "blue")}})
    assert (made.action, made.fields, made.wanted) == (Action.CHANGE, {"size": ("8", "4")}, Spec(4, "blue"))


def test_nothing_changes_where_all_is_as_stated() -> None:
    assert changes({"a": {"size": 4}, "b": {}}, {"a": {"": Spec(4)}, "b": {"": Spec(1, "blue")}}) == []


def test_places_that_differ_become_alike() -> None:
    places = {"broker-a": Spec(4), "broker-b": Spec(8), "broker-c": None}
    (made,) = changes({"a": {"colour": "red"}}, {"a": places})
    assert made.fields == {"size": ("4 / 8", "4"), "missing at": ("broker-c", "none")}
    assert made.wanted == Spec(4)


def test_what_is_of_use_at_the_beginning_only_changes_nothing_later() -> None:
    stated = {"a": {"secret": "VARIABLE"}}
    assert changes(stated, {"a": {"": Spec()}}, only_new=("secret",)) == []
    (made,) = changes(stated, {}, only_new=("secret",))
    assert made.wanted == Spec(secret="VARIABLE")


@pytest.mark.parametrize("prune", [False, True])
def test_what_the_file_does_not_have_is_deleted_only_on_request(prune: bool) -> None:
    found = changes({"a": {}}, {"a": {"": Spec()}, "b": {"": Spec()}, "c": {"": None}}, prune=prune)
    assert [(each.name, each.action) for each in found] == ([("b", Action.DELETE)] if prune else [])


SPECS = st.builds(Spec, st.integers(1, 3), st.sampled_from(["red", "blue"]))
STATED = st.fixed_dictionaries(
    {}, optional={"size": st.integers(1, 3), "colour": st.sampled_from(["red", "blue"])}
)
NAMES = st.sampled_from("abc")


@given(
    wanted=st.dictionaries(NAMES, STATED),
    have=st.dictionaries(NAMES, st.dictionaries(st.sampled_from("xy"), st.none() | SPECS, min_size=1)),
    prune=st.booleans(),
)
def test_after_its_changes_a_plan_is_empty(wanted, have, prune) -> None:
    after = {name: dict(places) for name, places in have.items()}
    for change in changes(wanted, have, prune=prune):
        places = after.get(change.name) or {"x": None}
        if change.action is Action.DELETE:
            del after[change.name]
        else:
            after[change.name] = dict.fromkeys(places, change.wanted)
    assert changes(wanted, after, prune=prune) == []
    for name, stated in wanted.items():
        for spec in after[name].values():
            assert all(getattr(spec, field) == value for field, value in stated.items())
