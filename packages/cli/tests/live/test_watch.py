"""Views that are shown again and again."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from mqframe_cli.live.watch import View, screen_lines, show_view, watch

from mqframe.core.errors import CallTimeout, SettingError


def looks(*found: View | Exception) -> Callable[[], View]:
    """Finds these in turn; then somebody presses Ctrl-C."""
    left = iter(found)

    def look() -> View:
        each = next(left, None)
        if each is None:
            raise KeyboardInterrupt
        if isinstance(each, Exception):
            raise each
        return each

    return look


def test_views_follow_each_other_until_somebody_ends_it(capsys: pytest.CaptureFixture[str]) -> None:
    pauses: list[float] = []
    watch(looks({"groups": [{"lag": 2}]}, {"groups": []}), interval=3, as_json=True, pause=pauses.append)
    lines = capsys.readouterr().out.splitlines()
    assert list(map(json.loads, lines)) == [{"groups": [{"lag": 2}]}, {"groups": []}]
    assert pauses == [3, 3]


def test_it_goes_on_while_servers_are_away(capsys: pytest.CaptureFixture[str]) -> None:
    watch(looks(CallTimeout("no answer"), {"groups": [{"lag": 2}]}), interval=1, pause=lambda _: None)
    told = capsys.readouterr()
    assert told.out == "groups\nlag\n2\n"
    assert told.err == "mqframe: no answer\n"


def test_an_interval_has_a_length() -> None:
    with pytest.raises(SettingError, match="--interval 0"):
        watch(looks(), interval=0)


def test_a_screen_takes_what_fits_and_counts_the_rest(capsys: pytest.CaptureFixture[str]) -> None:
    view = {"topics": [{"topic": f"t{number}"} for number in range(30)], "groups": []}
    lines = screen_lines(view, 80, 10)
    assert len(lines) == 10
    assert lines[:3] == ["TOPICS", "topic", "t0"]
    assert lines[-1] == "… 26 more lines; --json shows all"
    assert screen_lines({"groups": []}, 80, 10) == ["GROUPS", "no groups"]
    show_view({"groups": []}, as_json=False)
    assert capsys.readouterr().out == "no groups\n"
