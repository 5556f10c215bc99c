"""All alarms, and what they are about."""

from __future__ import annotations

from mqframe_dashboard.alarms.rules import BEHIND_MS, DISK_PERCENT
from mqframe_dashboard.alarms.watch import GROUPS_MAX, KEPT_MAX, AlarmWatch
from mqframe_dashboard.curves import span_text
from mqframe_dashboard.view import Note, Page, Part, TableView, time_text


def alarms_page(watch: AlarmWatch) -> Page:
    """What was wrong when the cluster was looked at last."""
    rows = [{"how": "severe" if each.severe else "look", "what": each.link} for each in watch.alarms]
    parts: list[Part] = []
    if watch.problem:
        parts.append(Note(f"The last look failed: {watch.problem}", wrong=True))
    if watch.looked_ms is None:
        parts.append(Note("The cluster has not been seen yet."))
    else:
        parts.append(Note(f"What was seen at {time_text(watch.looked_ms)}:"))
        parts.append(TableView("Alarms", rows, "Nothing is wrong of what is looked at."))
        if len(rows) == KEPT_MAX:
            parts.append(Note(f"There may be more than these {KEPT_MAX}."))
    parts.append(
        Note(
            "Looked at are: brokers that do not answer, went within the last hour, or say "
            "what is wrong with their store, role or replication; disks that are "
            f"{DISK_PERCENT:g}% full; brokers without a master or leader; slaves that are not in sync, or "
            f"lack what is older than {span_text(BEHIND_MS)}; dead letters of the last hour; and of the "
            f"{GROUPS_MAX} groups that are furthest behind those without a member. Whether a process "
            "is ready, only its own /readyz says."
        )
    )
    return Page("Alarms", parts, live=True)
