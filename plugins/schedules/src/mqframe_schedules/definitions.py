"""`[schedules.NAME]` in files of definitions (`mqframe-plugin-definitions` reads them)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from mqframe.core.errors import FixError, SettingError
from mqframe_schedules.admin import SchedulesAdmin
from mqframe_schedules.bodies import Schedule

if TYPE_CHECKING:
    from mqframe import Admin

_OWN = frozenset(("name", "number", "since_ms", "since_offset"))
"""What brokers note in a schedule."""


class ScheduleSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A recurring message; the fields are those of `Schedule`."""

    expression: str = ""
    topic: str = ""
    body: str = ""
    zone: str = "UTC"
    missed: str = "skip"
    is_base64: bool = False
    tag: str = ""
    keys: list[str] = []
    properties: dict[str, str] = {}
    queue_id: int = -1
    paused: bool = False


class ScheduleDefinitions:
    """Schedules of a cluster, a kind of definitions."""

    Spec: ClassVar[type[msgspec.Struct]] = ScheduleSpec
    rank: ClassVar[int] = 40
    only_new: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, admin: Admin) -> None:
        self._schedules = SchedulesAdmin(admin)

    def current(self, names: Collection[str] | None) -> Mapping[str, Mapping[str, ScheduleSpec | None]]:
        """Each schedule, by the one broker that has it; nothing of a cluster without the service."""
        if names is not None and not names:
            return {}
        try:
            states = self._schedules.list()
        except FixError:
            if names is None:
                return {}
            raise
        wanted = (each for each in states if names is None or each.schedule.name in names)
        return {each.schedule.name: {each.broker: _spec_of(each.schedule)} for each in wanted}

    def apply(self, name: str, wanted: ScheduleSpec, *, new: bool) -> None:
        """Make a schedule, or another one in its place, which begins now. Pausing changes nothing else."""
        if not (wanted.expression and wanted.topic and wanted.body):
            raise SettingError(f"[schedules.{name}]: a schedule needs expression, topic and body")
        old = None if new else next(iter(self.current([name])[name].values()))
        if old is None or msgspec.structs.replace(old, paused=wanted.paused) != wanted:
            if old is not None:
                self._schedules.remove(name)
            said: dict[str, Any] = {field: getattr(wanted, field) for field in wanted.__struct_fields__}
            self._schedules.create(Schedule(name=name, **{**said, "paused": False}))
        if wanted.paused:
            self._schedules.pause(name)
        elif old is not None and old.paused:
            self._schedules.resume(name)

    def delete(self, name: str) -> None:
        """Remove a schedule."""
        self._schedules.remove(name)


def _spec_of(schedule: Schedule) -> ScheduleSpec:
    said = {field: getattr(schedule, field) for field in Schedule.__struct_fields__ if field not in _OWN}
    return ScheduleSpec(**said)
