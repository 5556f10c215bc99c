"""The request by which slaves follow the timer of their master."""

from __future__ import annotations

from mqframe.core.requests.fields import Request, request
from mqframe.core.requests.needs import Action, cluster


@request(
    60,
    answer_body="the timer's checkpoint, as its file holds it",
    needs=cluster(Action.GET, operators=False),
    since="5.0.0",
)
class GetTimerCheckPoint(Request):
    """How far delivery at a given time has come."""
