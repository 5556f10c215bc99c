"""What the parts of one broker share."""

from __future__ import annotations

import json
from pathlib import Path

from mqframe_testing.manual_clock import ManualClock

from mqframe.broker.sections import BrokerSections
from mqframe.broker.settings import BrokerSettings
from mqframe.broker.state import BrokerState
from mqframe.broker.store_opening import StoreOpening
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.hooks.manager import PluginManager
from mqframe.store.settings import StoreSettings

FILES = [
    "consumerFilter.json", "consumerOffset.json", "messageRequestMode.json", "subscriptionGroup.json",
    "topics.json",
]  # fmt: skip


def opened(directory: Path) -> BrokerState:
    settings = BrokerSettings(host="127.0.0.1", default_topic_queues=3)
    store = StoreSettings(directory=directory)
    return BrokerState(
        BrokerSections(settings, store),
        ManualClock(),
        StoreOpening(lambda *arrival: None),
        PluginManager(list),
    )


async def test_its_tables_are_kept_below_the_store_s_directory(tmp_path: Path) -> None:
    state = opened(tmp_path)
    assert state.topics.need("TBW102").read_queue_nums == 3
    state.topics.put(TopicConfig(topic_name="t", read_queue_nums=5))
    state.offsets.commit("g", "t", 4, 9)
    await state.keeper.save_tables()
    await state.keeper.save_rest(state.store.confirming.flush_log)
    state.keeper.close()
    await state.store.stop()
    kept = {path.name for path in (tmp_path / "config").iterdir()} & set(FILES)
    assert {"topics.json", "subscriptionGroup.json", "consumerOffset.json"} <= kept
    saved = json.loads((tmp_path / "config" / "topics.json").read_text())
    assert saved["topicConfigTable"]["t"]["readQueueNums"] == 5
    again = opened(tmp_path)
    assert again.topics.find("t") is None  # tables are empty until they are loaded
    again.keeper.load()
    assert again.topics.need("t").read_queue_nums == 5
    assert again.registry.offsets.query("g", "t", 4) == 9
    again.keeper.close()
    await again.store.stop()
