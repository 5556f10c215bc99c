"""How quickstart shows what it found out."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from mqframe_cli.quickstart.report import GROUPS_SHOWN_MAX, QuickstartReport, show_report

GROUP = {"tag": "paid", "count": 1200, "spark_count": 1199, "mean": 2.5, "spark_mean": None}
REPORT = QuickstartReport(
    topic="orders", tag_column="state", value_column="price", allocate="averagely", sent=1200,
    sent_seconds=0.5, consumed=1200, consumed_seconds=2.0, repeated=0,
    members=[{"name": "consumer-1", "messages": 800, "queues": [0, 1]}], spark_seconds=0.0, seconds=9.26,
    groups=[GROUP], problems=[],
)  # fmt: skip


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("COLUMNS", "120")

    def show(**changes: Any) -> list[list[str]]:
        show_report(attrs.evolve(REPORT, **changes))
        return [line.split() for line in capsys.readouterr().out.splitlines()]

    return show


def test_traffic_is_shown_with_rates_and_the_queues_of_each_member(shown: Any) -> None:
    lines = shown()
    assert ["sent", "1,200", "0.50", "2,400"] in lines
    assert ["consumed", "1,200", "2.00", "600", "averagely"] in lines
    assert ["consumer-1", "800", "2.00", "400", "0,", "1"] in lines


def test_what_took_no_time_has_no_rate(shown: Any) -> None:
    assert ["read", "by", "Spark", "1,200", "0.00"] in shown()


def test_repeated_deliveries_are_shown_if_there_were_any(shown: Any) -> None:
    assert [line for line in shown() if "again" in line] == []
    assert ["delivered", "again", "1,003"] in shown(repeated=1003)


def test_groups_are_shown_with_both_counts_and_means(shown: Any) -> None:
    assert ["paid", "1,200", "1,199", "2.500", "–"] in shown()
    assert ["paid", "1,200", "1,199"] in shown(value_column="")


def test_no_more_than_thirty_groups_are_shown(shown: Any) -> None:
    groups = [{**GROUP, "tag": f"t{number}"} for number in range(GROUPS_SHOWN_MAX + 2)]
    lines = shown(groups=groups)
    tags = {group["tag"] for group in groups}
    assert [line[0] for line in lines if line and line[0] in tags] == [f"t{number}" for number in range(30)]
    assert ["…", "2", "more"] in lines


def test_the_verdict_is_that_all_agrees_or_what_does_not(shown: Any) -> None:
    assert shown()[-1] == ["everything", "agrees,", "after", "9.3", "s"]
    lines = shown(problems=["a", "b"])
    assert lines[-2:] == [["does", "not", "agree:", "a"], ["does", "not", "agree:", "b"]]
