"""Progress bars."""

from __future__ import annotations

import io

import pytest
from mqframe_cli.live.meter import meter


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


def test_a_bar_is_for_terminals_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with meter("sync", 256) as done:
        done(256)
    assert capsys.readouterr() == ("", "")


def test_a_bar_tells_how_far_a_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with meter("sync", 300) as done:
        for count in range(1, 301):
            done(count)
    assert "sync" in terminal.getvalue()
    assert "300/300" in terminal.getvalue()
