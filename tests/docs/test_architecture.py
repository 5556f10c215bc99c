"""The map of the code names every folder and no file that is gone; messages go the ways that it describes."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from types import FrameType

import pytest
from mqframe_testing.cluster import Cluster

from mqframe import ConsumeResult, Message, Producer, PushConsumer

ROOT = Path(__file__).parents[2]
KERNEL = ROOT / "mqframe"
SPEEDUPS = ROOT / "packages/speedups/src/mqframe_speedups"
SUBJECTS = [
    ROOT / "packages/cli/src/mqframe_cli",
    ROOT / "packages/testing/src/mqframe_testing",
    ROOT / "plugins/admin/src/mqframe_admin",
    ROOT / "plugins/metrics/src/mqframe_metrics",
    ROOT / "plugins/store_tools/src/mqframe_store_tools",
    ROOT / "plugins/pop/src/mqframe_pop",
    ROOT / "plugins/pull/src/mqframe_pull",
    ROOT / "plugins/request_reply/src/mqframe_request_reply",
    ROOT / "plugins/steering/src/mqframe_steering",
    ROOT / "plugins/transactions/src/mqframe_transactions",
    ROOT / "plugins/delay/src/mqframe_delay",
    ROOT / "plugins/index/src/mqframe_index",
    ROOT / "plugins/assignment/src/mqframe_assignment",
    ROOT / "plugins/replication/src/mqframe_replication",
    ROOT / "plugins/election/src/mqframe_election",
    SPEEDUPS,
]
"""Distributions that the map shows as well."""
PAGE = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
SECONDS_MAX = 120.0
COMPILED = pytest.mark.skipif(find_spec("mqframe_speedups") is None, reason="compiled code is not there")


def shown(path: Path) -> str:
    """How the map calls a path: `core/wire` in the kernel, `mqframe_cli/live` elsewhere."""
    top = next(top for top in (KERNEL, *SUBJECTS) if path.is_relative_to(top))
    return path.relative_to(top if top == KERNEL else top.parent).as_posix()


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].partition("\n## ")[0]


def test_every_folder_is_in_the_map_and_nothing_else() -> None:
    rooms = re.findall(r"^\| `([\w/]+)` \|", section("Rooms"), re.MULTILINE)
    folders = [shown(path.parent) for top in (KERNEL, *SUBJECTS) for path in top.rglob("__init__.py")]
    assert sorted(rooms) == sorted(folder for folder in folders if folder != ".")


def test_every_named_file_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)`", PAGE.replace("`mqframe/a/b.py`", ""))
    assert len(named) > 30
    tops = [KERNEL, *(top.parent for top in SUBJECTS)]
    missing = [name for name in named if not any((top / name).exists() for top in tops)]
    assert [name for name in missing if not name.startswith("tests/")] == []


class Calls:
    """The files of the kernel that are called, one after the other, in all threads."""

    def __init__(self) -> None:
        self._files: list[str] = []
        self._recording = False

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if self._recording and event == "call":
            self._files.append(frame.f_code.co_filename)

    def begin(self) -> None:
        self._recording = True

    def end(self) -> list[str]:
        """The paths, as the map has them, since `begin`, without repetitions side by side."""
        self._recording = False
        ours = tuple(f"{top}/" for top in (KERNEL, *SUBJECTS))
        # Compiled code is built elsewhere, with a copy of what is Python there.
        names = (re.sub(r"^.*/mqframe_speedups/", f"{SPEEDUPS}/", name) for name, _ in groupby(self._files))
        return [shown(Path(name)) for name in names if name.startswith(ours)]


@pytest.fixture
def calls() -> Iterator[Calls]:
    """Threads that are started from now on are watched, and so is this one."""
    found = Calls()
    before = sys.getprofile()
    threading.setprofile(found)
    sys.setprofile(found)
    try:
        yield found
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]


def assert_way(title: str, called: list[str], shorter: bool) -> None:
    """That the steps of both lists of a section were called, one after the other.

    `shorter`: those that compiled code does not take the place of, and its own.
    """
    said = section(title)
    parts = said.split("\nIn the ")[1:]
    assert len(parts) == 2
    ways = re.findall(SHORTER, said)
    assert ways
    for part in parts:
        steps = re.findall(r"^\d+\. `([\w/]+\.py)`", part, re.MULTILINE)
        assert len(steps) > 3
        for where, last, next_one, file in ways if shorter else ():
            if part.startswith(f"loop of the {where}"):
                steps[int(last) : int(next_one or len(steps) + 1) - 1] = [file]
        rest = iter(called)
        missed = next((step for step in steps if step not in rest), None)
        assert missed is None, f"{missed} was not called after the step before it"


SHORTER = r"A (broker|client) with[^.]* (?:between|behind) steps? (\d+)(?: and (\d+))?, in `([\w/]+\.py)`"
"""How the map says where compiled code serves: behind a step, to another one or to the end."""


@pytest.mark.parametrize("shorter", [False, pytest.param(True, marks=COMPILED)])
def test_a_produced_and_a_consumed_message_go_the_ways_that_are_told(
    shorter: bool, calls: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQFRAME_SPEEDUPS", "1" if shorter else "0")
    if find_spec("mqframe_speedups") is not None:
        # A process decides once what its clients read with, and may have done so before.
        messages = import_module("mqframe_speedups.messages")
        monkeypatch.setattr(messages, "decode", messages.reader(os.environ))
    handled = threading.Semaphore(0)

    with Cluster() as cluster, Producer(group="shop", nameserver=cluster.nameserver) as producer:
        consumer = PushConsumer(group="billing", nameserver=cluster.nameserver, consume_from="first")

        @consumer.on("orders")
        def handle(messages: object, context: object) -> ConsumeResult:
            handled.release()
            return ConsumeResult.SUCCESS

        def send() -> None:
            producer.send(Message("orders", b"two espressi", keys=["o-1"]))

        send()
        with consumer:
            for number in range(24):
                if number == 4:  # one for each queue: all are pulled and held now
                    calls.begin()
                send()
                assert handled.acquire(timeout=SECONDS_MAX)
        called = calls.end()

    assert_way("The way of a produced message", called, shorter)
    assert_way("The way of a consumed message", called, shorter)
