"""Results as tables for people and as JSON for programs."""

from __future__ import annotations

import json

import pytest
from command_runs import run

from mqframe.cli.output import show, show_one, time_text


def test_tables_are_for_people(at: str) -> None:
    text = run("cluster")
    assert "broker-a" in text
    assert "master" in text
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


def test_values_are_written_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    show_one(
        {"topic": "orders", "open": True, "tags": ["a", "b"], "more": {"x": 1}, "none": None}, as_json=False
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["topic  orders", "open   yes", "tags   a, b", "more   x=1", "none   "]


def test_values_are_written_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    show([{"queue": 0, "messages": 7}], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"queue": 0, "messages": 7}]
    show([], as_json=True)
    assert json.loads(capsys.readouterr().out) == []


def test_a_table_has_a_column_for_each_key_and_says_when_it_is_empty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show([{"queue_id": 0, "body": "a"}, {"queue_id": 12, "body": "b"}], as_json=False)
    heading, _, *rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip()]
    assert heading == ["queue", "id", "body"]
    assert rows == [["0", "a"], ["12", "b"]]
    show([], as_json=False, empty="no topic yet")
    assert capsys.readouterr().out == "no topic yet\n"


def test_times_are_utc_and_milliseconds() -> None:
    assert time_text(1_700_000_000_123) == "2023-11-14T22:13:20.123+00:00"
    assert time_text(0) == ""


def test_nothing_that_others_stored_moves_the_cursor(capsys) -> None:
    show([{"keys": ["a\x1b[2J"], "body": "b\x07\x85"}], as_json=False)
    show_one({"name": "x\ry", "properties": {"p\x1b": "\u202eq"}}, as_json=False)
    written = capsys.readouterr().out
    assert not set(written) & {"\x1b", "\x07", "\x85", "\r", "\u202e"}
    for text in ("a\\x1b[2J", "b\\x07\\x85", "x\\ry", "p\\x1b=\\u202eq"):
        assert text in written
