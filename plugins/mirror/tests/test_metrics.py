"""What monitoring is shown of a mirror."""

from __future__ import annotations

import urllib.request

import pytest
from mirror_scenes import MirrorScene
from mqframe_mirror.metrics import MirrorCollector, serve_metrics
from mqframe_testing.ports import lasting_port
from prometheus_client import CollectorRegistry, generate_latest

from mqframe.core.errors import SettingError

LABELS = 'broker="broker-a",queue="0",source="tokyo",target="berlin",topic="orders"'


async def test_lag_and_what_was_done_are_told_by_queue() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        mirror = await scene.begin()
        await scene.tokyo.send("orders", b"1", b"2", b"3")
        await scene.copied(mirror)
        await scene.berlin.cluster.stop_broker()
        await scene.tokyo.send("orders", b"4", b"5")
        [lane] = mirror.topics["orders"].lanes.values()
        await scene.until(lambda: lane.tally.problem and lane.tally.lag == 2)
        registry = CollectorRegistry()
        registry.register(MirrorCollector(mirror))
        text = generate_latest(registry).decode()
        await scene.berlin.cluster.start_broker()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def value(name: str) -> float:
        [found] = [
            float(number)
            for series, number in values.items()
            if series.startswith(f"mqframe_mirror_{name}{{")
            and sorted(series.partition("{")[2][:-1].split(",")) == LABELS.split(",")
        ]
        return found

    assert (value("lag_messages"), value("copied_messages_total"), value("held_up")) == (2, 3, 1)
    assert value("lag_seconds") > 5
    assert value("copied_bytes_total") > 3
    assert [value(f"{each}_messages_total") for each in ("looped", "refused", "missed")] == [0, 0, 0]


async def test_they_are_served_until_that_is_ended() -> None:
    async with MirrorScene({"orders": 1}) as scene:
        mirror = await scene.begin()
        port = lasting_port()
        end = serve_metrics(mirror, port)
        with pytest.raises(SettingError, match=f"--metrics-port {port}"):
            serve_metrics(mirror, port)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            text = answer.read().decode()
        end()
        assert "mqframe_mirror_lag_messages{" in text
        assert "process_" in text or "python_info" in text
