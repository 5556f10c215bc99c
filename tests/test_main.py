"""`python -m mqframe`, with and without the command line."""

from __future__ import annotations

import pytest

import mqframe.__main__
from mqframe import __version__


def test_it_is_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["mqframe", "--version"])
    with pytest.raises(SystemExit) as ended:
        mqframe.__main__.main()
    assert (ended.value.code, capsys.readouterr().out) == (0, f"mqframe {__version__}\n")


def test_without_it_the_line_that_installs_it_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mqframe.__main__, "entry_points", lambda **names: [])
    with pytest.raises(SystemExit) as ended:
        mqframe.__main__.main()
    assert ended.value.code == 2
    assert 'pip install "mqframe[standard]"' in capsys.readouterr().err
