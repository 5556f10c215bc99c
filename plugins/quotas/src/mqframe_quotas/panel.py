"""The page of quotas in the dashboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mqframe.core.errors import AnswerError
from mqframe.core.requests.refusals import is_unserved
from mqframe.core.wire import loose_json
from mqframe_quotas.bodies import QuotaStates
from mqframe_quotas.requests import ListQuotas

if TYPE_CHECKING:
    from mqframe import AsyncAdmin

Content = str | Sequence[Mapping[str, str | int | None]]


async def show(admin: AsyncAdmin, query: Mapping[str, str]) -> list[tuple[str, Content]]:
    """The quotas in force at all brokers, with what was used of them, and who has not the service.

    Raises `AnswerError` and `RetryError` as the admin does.
    """
    rows: list[Mapping[str, str | int | None]] = []
    without: list[str] = []
    for broker in sorted(await admin.cluster.masters()):
        try:
            answer = await admin.brokers.call(broker, ListQuotas())
        except AnswerError as problem:
            if not is_unserved(problem):
                raise
            without.append(broker)
            continue
        for state in loose_json.decode(bytes(answer.body), QuotaStates).quotas:
            rows += state.rows()
    found: list[tuple[str, Content]] = [("Quotas", rows or "there is none; mqframe quota set makes one")]
    if without:
        found.append(
            ("Without quotas", f"{', '.join(without)}: the broker service quotas is not in use there")
        )
    return found
