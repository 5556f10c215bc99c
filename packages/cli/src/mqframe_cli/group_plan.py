"""`mqframe group plan`: what another allocation strategy would move, as text or JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import typer
from mqframe_admin.rules.allocation_plan import AllocationPlan, QueuePlan

from mqframe.core.errors import SettingError
from mqframe.core.printable import printable
from mqframe_cli.output import queue_columns, show, show_one, write_json


def options_of(items: Iterable[str]) -> dict[str, str]:
    """The options in `items`, "key=value" each. Raises `SettingError`."""
    found: dict[str, str] = {}
    for item in items:
        key, is_pair, value = item.partition("=")
        if not is_pair or not key.strip():
            raise SettingError(f"--option {item!r}: must be key=value")
        if key.strip() in found:
            raise SettingError(f"--option {key.strip()} is given twice; leave one out")
        found[key.strip()] = value
    return found


def show_plan(plan: AllocationPlan, *, as_json: bool, every: bool) -> None:
    """Write `plan`; for people the queues that move, or `every` one."""
    members = _member_rows(plan)
    if as_json:
        write_json(
            {
                **_head(plan),
                "members": members,
                "topics": [{"topic": each.topic, "basis": each.basis} for each in plan.topics],
                "queues": [_queue_row(each) for each in plan.queues],
                "problems": list(plan.problems),
                "conflicts": list(plan.conflicts),
            }
        )
        return
    show_one(_head(plan), as_json=False)
    for topic in plan.topics:
        if topic.basis:
            typer.echo(printable(f"{topic.topic}: {topic.basis}"))
    show(members, as_json=False)
    rows = [_queue_row(each) for each in plan.queues if every or each.moves is not False]
    show(rows, as_json=False, empty="no queue moves")
    for problem in plan.problems:
        typer.echo(printable(f"! {problem}"))


def _head(plan: AllocationPlan) -> dict[str, Any]:
    return {
        "group": plan.group,
        "allocate": plan.strategy,
        "queues_moved": plan.moved,
        "queues_unknown": plan.unknown,
        "queues_total": len(plan.queues),
    }


def _member_rows(plan: AllocationPlan) -> list[dict[str, Any]]:
    before, after = plan.before, plan.after
    return [
        {
            "client": client,
            "before": before.get(client),
            "after": after.get(client),
            "state": _state(plan, client),
        }
        for client in sorted(before.keys() | after.keys())
    ]


def _state(plan: AllocationPlan, client: str) -> str:
    if client not in plan.now:
        return "comes"
    said = ("goes" if client not in plan.then else "", "does not answer" if client in plan.silent else "")
    return ", ".join(filter(None, said))


def _queue_row(each: QueuePlan) -> dict[str, Any]:
    return {
        **queue_columns(each.queue),
        "now": list(each.now) if each.known else None,
        "then": list(each.then),
        "moves": each.moves,
    }
