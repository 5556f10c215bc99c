"""A cluster compared with a file, changed to be as it says, and written as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from mqframe_definitions.document import Stated
from mqframe_definitions.kind import DefinitionKind
from mqframe_definitions.planning import Action, Change, planned

Kinds = Mapping[str, DefinitionKind[Any]]
"""By name, in the order in which they are applied."""


def plan(kinds: Kinds, stated: Stated, *, prune: bool = False) -> list[Change]:
    """What has to change for the cluster to be as `stated`, in the order in which it is to be done.

    `prune`: what a kind that is in the file has besides is deleted, in the reverse order, at the end.
    """
    changes = [
        change
        for name, kind in kinds.items()
        if name in stated
        for change in planned(
            name,
            kind.Spec,
            stated[name],
            kind.current(None if prune else stated[name]),
            only_new=kind.only_new,
            prune=prune,
        )
    ]
    deletions = [each for each in changes if each.action is Action.DELETE]
    return [each for each in changes if each.action is not Action.DELETE] + deletions[::-1]


def applied(kinds: Kinds, changes: Iterable[Change]) -> Iterator[Change]:
    """Make `changes` one after the other; yields each that is made."""
    for change in changes:
        kind = kinds[change.kind]
        if change.action is Action.DELETE:
            kind.delete(change.name)
        else:
            kind.apply(change.name, change.wanted, new=change.action is Action.CREATE)
        yield change


def exported(kinds: Kinds) -> dict[str, dict[str, msgspec.Struct]]:
    """All definitions of the cluster; of one that differs between places the first one's."""
    found: dict[str, dict[str, msgspec.Struct]] = {}
    for name, kind in kinds.items():
        for each, places in kind.current(None).items():
            there = [spec for spec in places.values() if spec is not None]
            found.setdefault(name, {})[each] = there[0]
    return found
