"""The settings of the broker service `quotas`."""

from __future__ import annotations

from collections.abc import Sequence

from mqframe.core.config.settings import at_least, setting, settings, within
from mqframe_quotas.rules.limits import read_lines


def _problem(lines: Sequence[str]) -> str | None:
    try:
        read_lines(lines)
    except ValueError as problem:
        return str(problem)
    return None


@settings("quotas")
class QuotaSettings:
    """What may be sent, read and held open at each broker."""

    limits: tuple[str, ...] = setting(
        (),
        doc="quotas, each `KIND:NAME limit=number …`, as `user:alice send_bytes=1000000 read_messages=100`;"
        " the name `*` is for all of a kind that have none of their own; those that operators set while the"
        " broker runs take their place",
        check=_problem,
        live=True,
    )
    burst_ms: int = setting(
        1000,
        doc="what a limit lets pass within so long may pass at once after a pause, ms",
        check=within(1, 3_600_000),
        live=True,
    )
    hold_ms_max: int = setting(
        2000,
        doc="how long a read over its quota is held before its client is told to ask again, ms",
        check=within(1, 10_000),
        live=True,
    )
    quotas_max: int = setting(
        1000, doc="most quotas that operators may set at a broker", check=at_least(1), live=True
    )
    payers_max: int = setting(
        10_000,
        doc="so many who have a quota are told apart; further ones with the default of their kind share it",
        check=at_least(1),
    )
