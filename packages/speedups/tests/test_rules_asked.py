"""Halves and messages with a delay level are laid out as the rules said of the first of their kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from drawn import waiting
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mqframe_transactions.settings import TransactionSettings
from twins import FIRST, PREPARED, batch, both, delayed, half, opened, send, service_of

from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.messages.names import HALF_TOPIC, SCHEDULE_TOPIC
from mqframe.core.storage.log_scan import scan
from mqframe.core.wire.frame import HeaderForm
from mqframe.hooks.interfaces import BrokerService, PendingRecord, SendRule
from mqframe.hooks.manager import PluginManager
from mqframe.hooks.specs import hookimpl

KNOWN = [*FIRST, half(4), delayed(5), send(6), send(7, "other"), delayed(8, "1")]
"""Topics that are known, and the queues in which halves and messages of two levels wait."""


@pytest.mark.parametrize("form", list(HeaderForm))
async def test_they_go_the_shorter_way(
    form: HeaderForm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [
        *KNOWN,
        half(10, form=form) + half(11, form=form) + half(12, "other", form=form),
        send(13) + delayed(14, form=form) + delayed(15, "1", "other") + half(16) + send(17, "other"),
        half(18, flag=FLAG_ONEWAY) + half(19, f="0") + half(20, f="8") + half(21, f="1"),
        half(22, more={"TAGS": "öä", "KEYS": "a b", "own": "x"}) + delayed(23, h="-7", j="3"),
    ]
    found = await both(tmp_path, monkeypatch, reads)
    assert found.native >= 14
    halves = [record for record in scan(found.log, 0) if record.topic == HALF_TOPIC]
    assert [record.queue_offset for record in halves] == list(range(10))
    assert all("REAL_TOPIC\x01" in record.properties and record.sys_flag in (0, 1) for record in halves)
    waiting = [record for record in scan(found.log, 0) if record.topic == SCHEDULE_TOPIC]
    assert [(record.queue_id, record.queue_offset) for record in waiting] == [
        (2, 0),
        (0, 0),
        (2, 1),
        (0, 1),
        (2, 2),
    ]
    assert found.counts[HALF_TOPIC][4]["transaction"][0] == 10
    assert found.counts["t"][4]["delay"][0] == 4


ODD = {
    "a half with a delay": half(30, more={"DELAY": "3"}),
    "a half that came back": half(30, more={"DELAY": "3"}, j="1"),
    "no half": half(30, more={"TRAN_MSG": "false"}),
    "a half in capitals": half(30, more={"TRAN_MSG": "TRUE"}),
    "a half of others' notes": half(30, more={"TRAN_PREPARED_QUEUE_OFFSET": "7"}),
    "a half that says how often it was checked": half(30, more={"TRANSACTION_CHECK_TIMES": "7"}),
    "a half that says it is a batch": half(30, more={"HALF_BATCH": "7"}),
    "a half with an id of its own": half(30, more={"__transactionId__": "7"}),
    "a half with its place": half(30, more={"REAL_QID": "7"}),
    "a half with the broker's word": half(30, more={"TRACE_ON": "false"}),
    "a half with a time of immunity": half(30, more={"CHECK_IMMUNITY_TIME_IN_SECONDS": "7"}),
    "a half in order": half(30, more={"__SHARDINGKEY": "7"}),
    "a half without a key": send(30, f=PREPARED, properties="TRAN_MSG\x01true\x02PGROUP\x01producers\x02"),
    "a half with a name twice": half(30, properties="UNIQ_KEY\x01a\x02b\x01c\x02TRAN_MSG\x01true\x02b\x01d"),
    "a half with an empty pair": half(30, properties="UNIQ_KEY\x01a\x02\x02TRAN_MSG\x01true\x02"),
    "a half with an empty value": half(30, properties="UNIQ_KEY\x01a\x02b\x01\x02TRAN_MSG\x01true"),
    "a half that says so twice": half(30, properties="TRAN_MSG\x01true\x02UNIQ_KEY\x01a\x02TRAN_MSG\x01true"),
    "a half that says so at its end": half(30, properties="UNIQ_KEY\x01a\x02TRAN_MSG\x01true"),
    "a half that says so in a name": half(30, properties="UNIQ_KEY\x01a\x02xTRAN_MSG\x01true\x02"),
    "a half that says so in a value": half(30, properties="UNIQ_KEY\x01a\x02b\x01TRAN_MSG\x02"),
    "many properties": half(30, more={f"p{number}": "x" for number in range(40)}),
    "level 0": delayed(30, "0"),
    "a level above all": delayed(30, "99"),
    "a level with a zero": delayed(30, "03"),
    "no level": delayed(30, "soon"),
    "a level below all": delayed(30, "-3"),
    "a level and a time": delayed(30, more={"TIMER_DELAY_SEC": "5"}),
    "a level that nobody asked for yet": delayed(30, "7"),
    "a batch with a level": batch(30, properties="DELAY\x013\x02"),
    "a batch of halves": batch(30, properties="TRAN_MSG\x01true\x02"),
    "a topic that is not there": half(30, "nobody knows", c="nothing"),
    "a topic that is made": half(30, "made"),
    "a queue that is not there": half(30, e="2"),
    "a flag of transactions alone": send(30, f=PREPARED),
    "properties too long": half(30, more={"x": "y" * 32_600}),
}


@pytest.mark.parametrize("odd", ODD)
async def test_what_is_odd_ends_as_ever(odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [*KNOWN, half(20) + ODD[odd] + delayed(21), ODD[odd], half(22), delayed(23)]
    found = await both(tmp_path, monkeypatch, reads)
    assert found.native >= 3
    assert found.answers.count(b'"opaque":23,') == 1


@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.data())
async def test_any_of_them_are_stored_as_by_python(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    reads = [
        b"".join(data.draw(waiting(100 * read + number)) for number in range(data.draw(st.integers(1, 6))))
        for read in range(1, data.draw(st.integers(2, 7)))
    ]
    await both(tmp_path_factory.mktemp("twins"), monkeypatch, [*KNOWN, *reads])


async def test_with_a_crc_over_each_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [*KNOWN, *(half(10 + n) + delayed(40 + n) for n in range(5))]
    found = await both(tmp_path, monkeypatch, reads, store={"property_crc": True})
    assert found.native >= 9
    sound = list(scan(found.log, 0))
    assert [record.properties.count("__CRC32#") for record in sound] == [1] * len(sound)


async def test_settings_that_reject_them_count_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as scene:
        for read in [*KNOWN, half(10)]:
            scene.peer.data_received(read)
            await scene.settle()
        service, live = service_of(scene.broker), scene.broker.service_port.settings(TransactionSettings)
        before = service.counters()["speedups.sends"]
        live.current = TransactionSettings(reject=True)
        written = len(scene.wire.written)
        scene.peer.data_received(half(11))
        await scene.settle()
        assert b'"code":16,' in scene.wire.written[written:]
        live.current = TransactionSettings()
        scene.peer.data_received(half(12))
        await scene.settle()
        assert int(service.counters()["speedups.sends"]) == int(before) + 1


class Marks(SendRule):
    """Marks what is stored, which it does not promise to do alike."""

    def __init__(self, name: str) -> None:
        self.names = frozenset({name})

    def before(self, record: PendingRecord) -> None:
        record.properties["marked"] = str(len(record.body))


class Marking(BrokerService):
    """Brings that rule, of messages with a property."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def send_rules(self) -> list[SendRule]:
        return [Marks(self._name)]


class Hooks:
    """Brings the service."""

    def __init__(self, name: str) -> None:
        self._name = name

    @hookimpl
    def register_broker_services(self) -> dict[str, Any]:
        return {"marking": lambda port: Marking(self._name)}


@pytest.mark.parametrize("name", ["TRAN_MSG", "__transactionId__"])
async def test_a_rule_that_promises_nothing_sees_each(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugins = PluginManager()
    plugins.register(Hooks(name))
    reads = [*KNOWN, half(10) + half(11), delayed(12) + delayed(13)]
    services = {"services": ("marking",)}
    found = await both(tmp_path, monkeypatch, reads, brings=plugins, broker=services)
    assert found.native == 3
    assert found.log.count(b"marked\x014\x02") == 3
