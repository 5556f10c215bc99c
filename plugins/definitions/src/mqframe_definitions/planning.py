"""What has to change for a cluster to be as a file says. Pure: it compares what was read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any

import attrs
import msgspec

NOTHING = "none"


class Action(StrEnum):
    """What becomes of a definition."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"


@attrs.frozen
class Change:
    """One definition that is to be made, changed or deleted.

    `fields`: what each field that changes is, and will be, for people; `wanted`: all of it, `None` where it
    is deleted.
    """

    kind: str
    name: str
    action: Action
    fields: Mapping[str, tuple[str, str]]
    wanted: Any = attrs.field(default=None, eq=False, repr=False)


def planned(
    kind: str,
    spec: type[msgspec.Struct],
    wanted: Mapping[str, Mapping[str, Any]],
    have: Mapping[str, Mapping[str, msgspec.Struct | None]],
    *,
    only_new: Collection[str] = (),
    prune: bool = False,
) -> list[Change]:
    """The changes of one kind, by name.

    `wanted`: by name the fields that the file states, as `spec` has them: what it does not state stays as it
    is, and begins as the default. `have`: by name what each place has. `only_new`: fields that do not count
    where there is one. `prune`: what is not in the file is deleted.
    """
    changes = []
    for name, stated in sorted(wanted.items()):
        places = have.get(name) or {}
        change = _change(kind, name, spec, stated, places, only_new)
        if change is not None:
            changes.append(change)
    if prune:
        gone = sorted(name for name, places in have.items() if name not in wanted and any(places.values()))
        changes += [Change(kind, name, Action.DELETE, {}) for name in gone]
    return changes


def _change(
    kind: str,
    name: str,
    spec: type[msgspec.Struct],
    stated: Mapping[str, Any],
    places: Mapping[str, msgspec.Struct | None],
    only_new: Collection[str],
) -> Change | None:
    there = {place: each for place, each in places.items() if each is not None}
    if not there:
        made = spec(**stated)
        fields = {field: (NOTHING, _shown(getattr(made, field))) for field in stated}
        return Change(kind, name, Action.CREATE, fields, made)
    first = next(iter(there.values()))
    merged = msgspec.structs.replace(first, **stated)
    fields = {}
    # What the file does not state may still differ between places: the first one's counts for all of them.
    for field in (each for each in spec.__struct_fields__ if each not in only_new):
        value = getattr(merged, field)
        if any(getattr(each, field) != value for each in there.values()):
            olds = dict.fromkeys(_shown(getattr(each, field)) for each in there.values())
            fields[field] = (" / ".join(olds), _shown(value))
    missing = sorted(place for place, each in places.items() if each is None)
    if missing:
        fields["missing at"] = (", ".join(missing), NOTHING)
    return Change(kind, name, Action.CHANGE, fields, merged) if fields else None


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()
