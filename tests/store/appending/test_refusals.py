"""Why messages are refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mqframe.core.errors import StoreUnavailable
from mqframe.store.appending.refusals import WriteRefusals
from mqframe.store.files.durability import Durability


def scene(**reasons: str) -> tuple[WriteRefusals, Any]:
    """Refusals with a reason of each of these: `space`, `dispatch`, `replicas`."""
    given = {name: StoreUnavailable(text) for name, text in reasons.items()}
    parts = SimpleNamespace(
        durability=Durability(),
        space=SimpleNamespace(refusal=given.get("space")),
        dispatch=SimpleNamespace(failure=given.get("dispatch")),
        replicas=SimpleNamespace(refusal=lambda: given.get("replicas")),
    )
    made: Any = WriteRefusals
    return made(parts.durability, parts.space, parts.dispatch, parts.replicas), parts


def test_nothing_is_against_it() -> None:
    refusals, _ = scene()
    assert (refusals.now(), refusals.own()) == (None, None)


def test_what_lasts_longest_is_told_first() -> None:
    refusals, parts = scene(space="the disk is full", dispatch="queues fail", replicas="too few")
    parts.durability.lost("commitlog/0", OSError(5, "Input/output error"))
    assert "commitlog/0 could not be flushed" in str(refusals.now())
    parts.durability.failure = None
    assert str(refusals.now()) == "the disk is full"
    parts.space.refusal = None
    assert str(refusals.now()) == "queues fail"
    parts.dispatch.failure = None
    assert str(refusals.now()) == "too few"
    assert refusals.own() is None


def test_a_store_that_has_stopped_takes_nothing_for_that_alone() -> None:
    refusals, _ = scene(space="the disk is full")
    refusals.closed = True
    assert str(refusals.now()) == "the store has stopped"
    assert str(refusals.own()) == "the disk is full"
