"""Our broker goes on with the transactions in a store that Apache's broker wrote."""

from __future__ import annotations

import json
import lzma
import tarfile
from pathlib import Path

import pytest
from mqframe_index.settings import IndexSettings
from mqframe_testing.cluster import AsyncCluster, ClusterOptions
from mqframe_testing.manual_clock import ManualClock
from mqframe_testing.thread_pools import at_rest

from mqframe import (
    AsyncTransactionProducer,
    ReceivedMessage,
    StoreReader,
    TransactionListener,
    TransactionOutcome,
)
from mqframe.core.messages.names import HALF_TOPIC

DATA = Path(__file__).parents[1] / "data" / "store"
AS_RECORDED = {
    "commit_log_file_bytes": 1 << 20,
    "queue_file_bytes": 20_000,
}

OPTIONS: ClusterOptions = {"store": AS_RECORDED, "sections": [IndexSettings(slots=1000, entries=4000)]}


class Asked(TransactionListener):
    """Remembers which transactions it was asked about, and rolls them back."""

    def __init__(self) -> None:
        self.names: list[str] = []

    async def check_local_transaction(self, message: ReceivedMessage) -> TransactionOutcome:
        self.names.append(message.transaction_id)
        return TransactionOutcome.ROLLBACK


@pytest.mark.parametrize("name", ["clean", "killed"])
async def test_only_what_apache_left_open_is_asked_for(name: str, tmp_path: Path) -> None:
    manifest = json.loads(lzma.decompress((DATA / f"{name}.manifest.json.xz").read_bytes()))
    with tarfile.open(DATA / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / name).rename(tmp_path / "broker-a")
    ends = {row["msgId"]: row["end"] for row in manifest["messages"] if row["kind"] == "transaction"}
    reader = StoreReader(tmp_path / "broker-a")
    halves = list(reader.records(HALF_TOPIC, 0, *reader.queue_range(HALF_TOPIC, 0)))
    [group] = {half.properties["PGROUP"] for half in halves}
    newest = max(half.store_timestamp for half in halves)

    clock, listener = ManualClock(newest + 1000), Asked()
    async with AsyncCluster(clock=clock, directory=tmp_path, **OPTIONS) as cluster:
        producer = AsyncTransactionProducer(group, listener, nameserver=cluster.nameserver, clock=clock)
        async with producer:
            await producer.queues("golden-tx")
            for _ in range(3):
                await clock.aadvance(30)
                await at_rest()
    assert sorted(listener.names) == sorted(message_id for message_id, end in ends.items() if end == "UNKNOW")
