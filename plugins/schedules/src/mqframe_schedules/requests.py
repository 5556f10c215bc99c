"""The requests for schedules; brokers without the service answer 3. Codes far from the reference's."""

from __future__ import annotations

from mqframe.core.requests.fields import Request, request
from mqframe.core.requests.needs import Action, cluster


@request(21330, body="Schedule", answer_body="ScheduleState", needs=cluster(Action.UPDATE))
class CreateSchedule(Request):
    """Make a schedule; 29 for a bad one or a name in use, 17 for an unknown topic."""


@request(21331, answer_body="ScheduleStates", needs=cluster(Action.GET))
class ListSchedules(Request):
    """All schedules of the broker."""


@request(21332, answer_body="ScheduleState", needs=cluster(Action.UPDATE))
class PauseSchedule(Request):
    """Send nothing for a schedule until it is resumed; 22 when there is none of that name."""

    name: str


@request(21333, answer_body="ScheduleState", needs=cluster(Action.UPDATE))
class ResumeSchedule(Request):
    """Send for a schedule again, from now on; 22 when there is none of that name."""

    name: str


@request(21334, needs=cluster(Action.UPDATE))
class RemoveSchedule(Request):
    """Remove a schedule; 22 when there is none of that name."""

    name: str
