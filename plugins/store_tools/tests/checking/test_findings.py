"""Findings are counted all and listed up to a limit, those of the log first."""

from __future__ import annotations

from pathlib import Path

from mqframe_store_tools.checking.findings import FINDINGS_MAX, Findings


def test_all_are_counted_and_the_first_are_listed() -> None:
    findings = Findings(Path("/s"), killed=False)
    for number in range(FINDINGS_MAX + 5):
        findings.add("/s/index/1", number, "a", "b")
    assert findings.total == FINDINGS_MAX + 5
    assert len(findings.listed) == FINDINGS_MAX


def test_what_is_wrong_in_the_log_comes_first() -> None:
    findings = Findings(Path("/s"), killed=False)
    findings.add(Path("/s/checkpoint"), 0, "a", "b")
    findings.add("/s/commitlog/2", 7, "a", "b")
    findings.add("/s/commitlog/2", 5, "a", "b")
    assert [(each.file, each.offset) for each in findings.in_order()] == [
        ("commitlog/2", 5), ("commitlog/2", 7), ("checkpoint", 0),
    ]  # fmt: skip


def test_a_note_is_kept_once() -> None:
    findings = Findings(Path("/s"), killed=True)
    findings.note("x")
    findings.note("x")
    assert findings.notes == ["x"]
