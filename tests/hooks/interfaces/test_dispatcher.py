from __future__ import annotations

from pathlib import Path

from mqframe_testing.conformance import WrittenRange

from mqframe.hooks.interfaces import Dispatcher, LogRange


class Plain(Dispatcher):
    """Implements what must be."""

    name = "plain"

    def dispatch(self, stretch: LogRange) -> int:
        return stretch.end


def test_a_dispatcher_that_keeps_no_cursor_leaves_it_to_the_broker(tmp_path: Path) -> None:
    dispatcher = Plain()
    assert dispatcher.start(tmp_path, "broker-a") is None
    assert dispatcher.idle() is None
    dispatcher.stop()


def test_a_stretch_is_taken_in_whole_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert Plain().taken(WrittenRange(100, 356, tmp_path)) == 356
