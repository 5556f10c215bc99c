"""Results as tables for people and as JSON for programs."""

from __future__ import annotations

import json
import time

import pytest
from command_runs import run
from mqframe_cli.output import ROWS_MAX, people, show, show_one, summary, time_text


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
    assert lines == ["topic\torders", "open\tyes", "tags\ta, b", "more\tx=1", "none\t"]


def test_values_are_written_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    show([{"queue": 0, "messages": 7}], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"queue": 0, "messages": 7}]
    show([], as_json=True)
    assert json.loads(capsys.readouterr().out) == []


def test_a_table_has_a_column_for_each_key_and_says_when_it_is_empty(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show([{"queue_id": 0, "body": "a"}, {"queue_id": 12, "body": "b"}], as_json=False)
    assert capsys.readouterr().out == "queue_id\tbody\n0\ta\n12\tb\n"
    show([], as_json=False, empty="no topic yet")
    assert capsys.readouterr().out == "no topic yet\n"


def test_times_are_utc_and_milliseconds() -> None:
    assert time_text(1_700_000_000_123) == "2023-11-14T22:13:20.123+00:00"
    assert time_text(0) == ""


def test_people_on_a_terminal_see_the_time_of_their_zone_and_its_offset(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {
        "last": time_text(1_700_000_000_123),
        "never": time_text(0),
        "body": "2023-11-14T22:13:20.123+00:00",
    }
    show_one({"more": row}, as_json=False)
    assert "last=2023-11-14T22:13:20.123+00:00 never= " in capsys.readouterr().out
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert people([row], 200)[1].split() == ["2023-11-15", "03:43:20+05:30", row["body"]]
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        show_one({"last": row["last"], "all": [row["last"]]}, as_json=False)
    finally:
        monkeypatch.undo()
        time.tzset()
    local = "2023-11-15 03:43:20+05:30"
    assert capsys.readouterr().out == f"last  {local}\nall   {local}\n"
    show([row], as_json=True)
    assert json.loads(capsys.readouterr().out) == [dict(row)]


def test_a_terminal_gets_a_table_without_colour_when_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    rows = [{"queue_id": 0, "lag": 5}, {"queue_id": 12, "lag": 7}]
    show(rows, as_json=False)
    assert capsys.readouterr().out == "\x1b[1mqueue id  lag\x1b[0m\n       0    5\n      12    7\n"
    monkeypatch.setenv("NO_COLOR", "1")
    show(rows, as_json=False)
    assert "\x1b" not in capsys.readouterr().out
    show(rows * ROWS_MAX, as_json=False)
    assert capsys.readouterr().out == f"{summary(rows * ROWS_MAX)}\n"
    show_one({"topic": "orders", "messages": 7}, as_json=False)
    assert capsys.readouterr().out == "topic     orders\nmessages  7\n"


def test_many_rows_are_summed_up() -> None:
    rows = [{"queue": number, "messages": 2} for number in range(20_000)]
    assert summary(rows).startswith("20,000 rows, messages 40,000; add --json")


def test_the_encoding_of_bodies_is_shown_where_one_is_no_text() -> None:
    text, bytes_ = {"body_encoding": "text", "body": "a"}, {"body_encoding": "base64", "body": "AA=="}
    assert people([text], 80) == ["body", "a"]
    assert people([text, bytes_], 80) == ["body encoding  body", "text           a", "base64         AA=="]


def test_what_strangers_wrote_is_escaped_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2J\x9b\u202e"
    show([{"topic": hostile, "properties": {hostile: hostile}}], as_json=False, title=hostile)
    show_one({hostile: [hostile]}, as_json=False)
    show([], as_json=False, empty=hostile)
    show([{"topic": hostile}], as_json=True)
    out = capsys.readouterr().out
    assert out.replace("\n", "").replace("\t", "").isprintable()
    assert out.count("2J") == 8
