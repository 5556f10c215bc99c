"""Progress bars, as they look at the end."""

from __future__ import annotations

import pytest
from mqframe_cli.quickstart.watch import Bars


def work(watch: Bars) -> None:
    with watch:
        watch.say("flights.csv")
        watch.sent(1000)
        watch.sent(1200)
        watch.consumed(700)
        watch.total(1200)
        watch.spark_begins()
        watch.spark_ends()


def test_bars_and_lines_go_to_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    work(Bars(quiet=False))
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0].strip() == "flights.csv"
    bars = {words[0]: words for words in map(str.split, lines[1:]) if words}
    assert list(bars) == ["sent", "consumed", "spark"]
    assert ["1,200" in bars["sent"], "700" in bars["consumed"], "1" in bars["spark"]] == [True] * 3


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    work(Bars(quiet=True))
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
