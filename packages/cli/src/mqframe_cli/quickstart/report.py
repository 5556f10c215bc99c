"""What quickstart found out, and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import attrs

GROUPS_SHOWN_MAX: Final = 30


@attrs.frozen(kw_only=True)
class QuickstartReport:
    """The outcome. Times are seconds; `problems` is empty when everything agrees.

    `members`: name, messages and queue ids of each consumer; `groups`: for each tag the count and mean from
    the input and from Spark.
    """

    topic: str
    tag_column: str
    value_column: str
    allocate: str
    sent: int
    sent_seconds: float
    consumed: int
    consumed_seconds: float
    repeated: int
    members: Sequence[dict[str, Any]]
    spark_seconds: float
    seconds: float
    groups: Sequence[dict[str, Any]]
    problems: Sequence[str]


def show_report(report: QuickstartReport) -> None:
    """Print two tables and the verdict."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    traffic = Table("step", title=f"topic {report.topic}", title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("messages", "seconds", "messages/s"):
        traffic.add_column(name, justify="right")
    traffic.add_column("queues")
    traffic.add_row("sent", *_rate(report.sent, report.sent_seconds), "")
    traffic.add_row("consumed", *_rate(report.consumed, report.consumed_seconds), report.allocate)
    for member in report.members:
        queues = ", ".join(map(str, member["queues"]))
        traffic.add_row(f"  {member['name']}", *_rate(member["messages"], report.consumed_seconds), queues)
    if report.repeated:
        traffic.add_row("  delivered again", f"{report.repeated:,}", "", "", "")
    traffic.add_row("read by Spark", *_rate(report.sent, report.spark_seconds), "")
    console.print(traffic)
    console.print(_groups(report, Table))
    for problem in report.problems:
        console.print(f"does not agree: {problem}")
    if not report.problems:
        console.print(f"everything agrees, after {report.seconds:.1f} s")


def _groups(report: QuickstartReport, table_class: Any) -> Any:
    from rich import box

    value = report.value_column
    title = f"{report.topic} by {report.tag_column}, from the input and from Spark"
    table = table_class(report.tag_column, title=title, title_justify="left", box=box.SIMPLE_HEAD)
    headings = ["count", "Spark count"] + ([f"mean {value}", f"Spark mean {value}"] if value else [])
    for heading in headings:
        table.add_column(heading, justify="right")
    for group in report.groups[:GROUPS_SHOWN_MAX]:
        cells = [f"{group['count']:,}", f"{group['spark_count']:,}"]
        cells += [_mean(group["mean"]), _mean(group["spark_mean"])] if value else []
        table.add_row(group["tag"], *cells)
    if len(report.groups) > GROUPS_SHOWN_MAX:
        table.add_row(f"… {len(report.groups) - GROUPS_SHOWN_MAX} more", *[""] * len(headings))
    return table


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _rate(count: int, seconds: float) -> tuple[str, str, str]:
    rate = f"{count / seconds:,.0f}" if seconds > 0 else ""
    return f"{count:,}", f"{seconds:.2f}", rate
