"""Schedules of a cluster, for programs: made, listed, paused, resumed and removed through an `Admin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import AnswerError, FixError
from mqframe.core.requests.fields import Request
from mqframe.core.wire import loose_json
from mqframe_schedules.bodies import Schedule, ScheduleState, ScheduleStates
from mqframe_schedules.requests import (
    CreateSchedule,
    ListSchedules,
    PauseSchedule,
    RemoveSchedule,
    ResumeSchedule,
)

if TYPE_CHECKING:
    from mqframe import Admin

T = TypeVar("T")
_NOT_SERVED = (
    "broker {broker} serves no schedules; install mqframe-plugin-schedules where it runs, and start it with"
    ' broker.services = ["schedules"]'
)


class SchedulesAdmin:
    """The schedules of all brokers that `admin` knows.

        with Admin(nameserver="127.0.0.1:9876") as admin:
            SchedulesAdmin(admin).create(Schedule("report", "0 8 * * *", "reports", "daily"))

    Raises `AnswerError` with the code and reason of a broker that refused, `FixError` when no broker can be
    asked, and a `RetryError` when one could not be reached.
    """

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def create(self, schedule: Schedule, *, broker: str | None = None) -> ScheduleState:
        """Make `schedule` at `broker`, by default the first by name that holds its topic.

        Raises `FixError` when a broker has one of that name.
        """
        taken = next((state for state in self.list() if state.schedule.name == schedule.name), None)
        if taken is not None:
            raise FixError(
                f"schedule {schedule.name} exists at broker {taken.broker} already; remove it first, or take"
                " another name"
            )
        chosen = broker or self._holder(schedule.topic)
        return self._call(chosen, CreateSchedule(), ScheduleState, loose_json.dumps(schedule))

    def list(self) -> list[ScheduleState]:
        """All schedules by name. Brokers without the service are left out, unless all are."""
        found: list[ScheduleState] = []
        unserved: list[str] = []
        for broker in self._admin.cluster.masters():
            try:
                found += self._call(broker, ListSchedules(), ScheduleStates).schedules
            except FixError as problem:
                if not isinstance(problem.__cause__, AnswerError):
                    raise
                unserved.append(str(problem))
        if len(unserved) == len(self._admin.cluster.masters()):
            raise FixError("; ".join(unserved))
        return sorted(found, key=lambda state: state.schedule.name)

    def pause(self, name: str) -> ScheduleState:
        """Send nothing for the schedule `name` until it is resumed."""
        return self._call(self._broker_of(name), PauseSchedule(name=name), ScheduleState)

    def resume(self, name: str) -> ScheduleState:
        """Go on with the schedule `name`; what was planned while it was paused is not sent."""
        return self._call(self._broker_of(name), ResumeSchedule(name=name), ScheduleState)

    def remove(self, name: str) -> None:
        """Remove the schedule `name`."""
        self._admin.brokers.call(self._broker_of(name), RemoveSchedule(name=name))

    def _broker_of(self, name: str) -> str:
        states = self.list()
        for state in states:
            if state.schedule.name == name:
                return state.broker
        known = ", ".join(state.schedule.name for state in states) or "there is none"
        raise FixError(f"schedule {name} does not exist; known: {known}")

    def _holder(self, topic: str) -> str:
        try:
            route = self._admin.topics.route(topic)
        except AnswerError as problem:
            if problem.code != ResponseCode.TOPIC_NOT_EXIST:
                raise
            raise FixError(f"topic {topic} does not exist; create it first") from problem
        return min(data.broker_name for data in route.queue_datas)

    def _call(self, broker: str, request: Request, kind: type[T], body: bytes = b"") -> T:
        try:
            answer = self._admin.brokers.call(broker, request, body)
        except AnswerError as problem:
            if problem.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
                raise FixError(_NOT_SERVED.format(broker=broker)) from problem
            raise
        return loose_json.decode(bytes(answer.body), kind)
