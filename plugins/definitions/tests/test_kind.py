"""Kinds of definitions that distributions offer."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from mqframe_definitions import kind
from mqframe_definitions.kind import GROUP, kind_classes

from mqframe.core.errors import PluginError


def test_kinds_are_applied_in_their_order_and_every_field_has_a_default() -> None:
    found = kind_classes()
    assert [each for each in found if each in ("topics", "groups", "users")] == ["topics", "groups", "users"]
    for each in found.values():
        each.Spec()


def test_one_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "no_such_module:Kind", GROUP)
    monkeypatch.setattr(kind, "entry_points", lambda *, group: [broken])
    with pytest.raises(PluginError, match=r"definitions 'broken' \(no_such_module:Kind\) cannot be loaded"):
        kind_classes()
