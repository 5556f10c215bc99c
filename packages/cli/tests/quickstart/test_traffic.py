"""The messages of quickstart: all are sent in order, and two members of a group get each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mqframe_cli.quickstart import traffic
from mqframe_cli.quickstart.events import Event
from mqframe_cli.quickstart.traffic import Consumers, publish
from mqframe_testing.server_process import ServerProcess

from mqframe.core.errors import CallTimeout
from mqframe.hooks.interfaces import AllocationStrategy, TagSummary

ROWS = 1500


class Halves(AllocationStrategy):
    """The first client has the queues with even numbers."""

    wire_name = "HALVES"

    def allocate(self, group, client_id, queues, clients):
        return [each for each in queues if each.queue_id % len(clients) == clients.index(client_id)]


def events() -> Iterator[Event]:
    for number in range(ROWS):
        tag, value = ("odd", None) if number % 2 else ("even", float(number))
        yield Event(tag, f"k{number}", f"s{number}", b"%d" % number, value)


def test_all_is_sent_counted_and_consumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ServerProcess(tmp_path / "data") as system:
        told: list[int] = []
        sent = publish(system.nameserver, "numbers", events(), told.append)
        assert len(set(sent.ids)) == ROWS
        assert told == sorted(told)
        assert told[-1] == ROWS
        assert sent.expected == {
            "even": TagSummary(750, 750, float(sum(range(0, ROWS, 2)))),
            "odd": TagSummary(750, 0, 0.0),
        }
        seen: list[int] = []
        with Consumers(system.nameserver, "numbers", Halves, seen.append) as consumers:
            consumers.wait_for(set(sent.ids))
            assert consumers.seen == set(sent.ids)
            assert consumers.tags == {"even": 750, "odd": 750}
            assert sum(member.messages for member in consumers.members) == ROWS + consumers.repeated
            assert seen[-1] == ROWS
            monkeypatch.setattr(traffic, "SILENCE_SECONDS_MAX", 0.01)
            with pytest.raises(CallTimeout, match=f"1 of {ROWS + 1} messages did not come"):
                consumers.wait_for({*sent.ids, "never sent"})
