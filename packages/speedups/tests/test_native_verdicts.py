"""Filters of records that remember: as those that do not, whatever lies in the log."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mqframe_speedups._native import RecordVerdicts
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_testing.manual_clock import ManualClock
from small_store import OPEN_INDEX, settings

from mqframe.core.messages.addresses import encode_host
from mqframe.core.storage.found import Found
from mqframe.core.storage.record import decode_records
from mqframe.core.storage.record_filter import RecordsAhead, record_filter
from mqframe.store.incoming import Incoming
from mqframe.store.message_store import MessageStore

V4, V6 = encode_host("10.0.0.1:80"), encode_host("[::1]:80")
NAMES = ["n", "kind"]
SIZES = {"queue_file_bytes": 2000, "scan_entries_max": 40}
Matches = Callable[[Mapping[str, str]], bool]


def chosen(properties: Mapping[str, str]) -> bool:
    """A condition that raises for some."""
    number = properties.get("n")
    if number == "9":
        raise ValueError(number)
    return number in ("1", "3", "\ufffd") or properties.get("kind") == "good"


class Asked:
    """A condition that notes the values of `NAMES` with which it is asked."""

    def __init__(self, matches: Matches = chosen) -> None:
        self.matches = matches
        self.values: list[tuple[str | None, ...]] = []

    def __call__(self, properties: Mapping[str, str]) -> bool:
        self.values.append(tuple(properties.get(name) for name in NAMES))
        return self.matches(properties)


def verdicts(asked: Asked, names: list[str] = NAMES) -> RecordVerdicts:
    return RecordVerdicts(plain(asked), asked, names)


def plain(matches: Matches) -> Any:
    return record_filter(matches, lambda problem: None)


class Stores:
    """Two stores with small files, whose records are read from the map, and copied."""

    def __init__(self, root: Path) -> None:
        self.topics = 0
        self.all = [
            MessageStore.open(
                settings(root / name, mapped_read_bytes=size, **SIZES), ManualClock(), open_index=OPEN_INDEX
            )
            for name, size in (("mapped", 1 << 30), ("copied", 0))
        ]

    def put(self, messages: list[tuple[int, str, int, bytes]]) -> str:
        """Messages of a topic of their own: queue id, properties, bytes of the body, host."""
        self.topics += 1
        topic = f"t{self.topics}"
        for store in self.all:
            for queue_id, text, size, host in messages:
                store.writes.put(Incoming(topic, queue_id, b"x" * size, text, 1000, host, V4))
            store.dispatch.now()
        return topic


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    made = Stores(tmp_path_factory.mktemp("verdicts"))
    yield made
    for store in made.all:
        store.abandon()


def walked(read: Callable[..., Found], topic: str, **options: Any) -> list[Any]:
    """Reads from the beginning to the end: all that each found."""
    offset, found = 0, []
    while True:
        got = read(topic, 0, offset, **options)
        found.append(
            (got.status, got.next_offset, got.count, got.size_bytes, [bytes(part) for part in got.parts])
        )
        if got.next_offset <= offset or got.next_offset >= got.max_offset:
            return found
        offset = got.next_offset


def cold(store: MessageStore, *arguments: Any, **options: Any) -> Found:
    return asyncio.run(store.reads.get_cold(*arguments, **options))


value = st.sampled_from(["1", "2", "3", "9", "good", "bad", "", "é", "x" * 300])
pair = st.builds("{}\x01{}".format, st.sampled_from(["n", "kind", "xn", "other", "", "NN"]), value)
odd = st.sampled_from(["n", "\x01", "n\x01", "kind\x01\x01", "1\x02\x02n\x011"])
text = st.lists(pair | odd, max_size=6).map("\x02".join)
properties = st.builds(str.__add__, text, st.sampled_from(["\x02", ""]))
message = st.tuples(
    st.sampled_from([0, 0, 0, 1]), properties, st.sampled_from([0, 5, 700]), st.sampled_from([V4, V4, V6])
)


@given(st.lists(message, max_size=60), st.integers(1, 40), st.sampled_from([1, 500, 3000, 1 << 20]))
@example([(0, "n\x011", 5, V4)] * 50, 32, 1 << 20)
@example([(0, f"n\x01{n % 4}\x02", 5, V4) for n in range(50)], 3, 1000)
def test_reads_find_what_they_find_in_python(
    stores: Stores, messages: list[Any], max_messages: int, bytes_max: int
) -> None:
    topic = stores.put(messages)
    options = {"max_messages": max_messages, "bytes_max": bytes_max}
    for store in stores.all:
        expected = walked(store.reads.get_now, topic, records=plain(chosen), **options)
        found = verdicts(Asked())
        assert walked(store.reads.get_now, topic, records=found, **options) == expected
        assert walked(store.reads.get, topic, records=found, **options) == expected  # by what it remembers
        assert walked(partial(cold, store), topic, records=found, **options) == expected
        for record in raw_records(store, topic):
            assert found(record) is found(memoryview(record)) is plain(chosen)(record)


def raw_records(store: MessageStore, topic: str) -> list[bytes]:
    found = []
    for log_offset, size, _ in store.reads.entries(topic, 0, 0, 100):
        record = store.search.record_at(log_offset)
        assert record is not None
        assert len(record) == size
        found.append(bytes(record))
    return found


def test_values_are_asked_about_once(stores: Stores) -> None:
    topic = stores.put([(0, f"a\x01{n}\x02n\x01{n % 4}\x02", 5, V4) for n in range(36)])
    for store in stores.all:
        asked = Asked()
        found = verdicts(asked)
        read = store.reads.get_now(topic, 0, 0, 32, records=found)
        assert bodies(read) == [str(n) for n in range(36) if n % 4 in (1, 3)]
        assert sorted(asked.values) == [(str(n), None) for n in range(4)]
        assert len(found) == 4


def bodies(found: Found | None) -> list[str]:
    assert found is not None
    return [m.properties["a"] for part in found.parts for m in decode_records(bytes(part))]


def test_what_raises_is_not_wanted_and_told(stores: Stores) -> None:
    topic = stores.put([(0, "a\x010\x02n\x019\x02", 5, V4), (0, "a\x011\x02n\x011\x02", 5, V4)])
    told: list[Exception] = []
    found = RecordVerdicts(record_filter(chosen, told.append), chosen, NAMES)
    assert bodies(stores.all[0].reads.get(topic, 0, 0, 32, records=found)) == ["1"]
    assert [str(problem) for problem in told] == ["9"]


def test_it_remembers_so_much_and_no_more(stores: Stores) -> None:
    topic = stores.put([(0, f"n\x01{'x' * 300}\x02", 5, V4), (0, "n\x01y\x02", 5, V4)])
    long, short = raw_records(stores.all[0], topic)
    asked = Asked()
    found = verdicts(asked)
    assert [found(long), found(long), found(short), found(short)] == [False] * 4
    assert (len(asked.values), len(found)) == (3, 1)
    at = short.index(b"n\x01y\x02")
    many = Asked()
    found = verdicts(many)
    for number in range(4097):
        record = short[:at] + b"n\x01%04x\x02" % number
        assert found(record) is False
    assert (len(many.values), len(found)) == (4097, 1)  # begun anew when there were 4096


def test_names_that_are_not_plain_are_asked_about_each_time(stores: Stores) -> None:
    topic = stores.put([(0, "ñ\x011\x02", 5, V4)])
    (record,) = raw_records(stores.all[0], topic)
    asked: list[str | None] = []

    def matches(properties: Mapping[str, str]) -> bool:
        asked.append(properties.get("ñ"))
        return True

    found = RecordVerdicts(plain(matches), matches, ["ñ"])
    assert found(record)
    assert found(record)
    assert (asked, len(found)) == (["1", "1"], 0)


@pytest.mark.parametrize("cut", [0, 4, 87, 88, 89, 91])
def test_a_record_that_is_cut_is_left_to_python(stores: Stores, cut: int) -> None:
    topic = stores.put([(0, "n\x011\x02", 0, V4)])
    (record,) = raw_records(stores.all[0], topic)
    assert verdicts(Asked())(record) is True
    assert verdicts(Asked())(record[:cut]) is plain(chosen)(record[:cut])


def test_bodies_of_odd_lengths_are_left_to_python(stores: Stores) -> None:
    topic = stores.put([(0, "n\x011\x02", 0, V4)])
    (record,) = raw_records(stores.all[0], topic)
    for length in (-1, -(2**31), 2**31 - 1, 10_000):
        damaged = record[:84] + struct.pack(">i", length) + record[88:]
        assert verdicts(Asked())(damaged) is plain(chosen)(damaged) is False


def ahead(found: RecordVerdicts, entries: bytes, view: bytes, number: int = 0, **changes: Any) -> Any:
    picked: list[tuple[int, int, int]] = changes.pop("picked", [])
    options = {"limits": (32, 1 << 20), "queue_id": 0, "log_start": 0, "stop": len(view), "size": 0} | changes
    window = (memoryview(view), options.get("base", 0), options["stop"])
    done = found.look_ahead(
        number,
        picked,
        options["size"],
        entries,
        options["limits"],
        options["queue_id"],
        options["log_start"],
        window,
    )
    return done, picked


def test_it_looks_ahead_as_far_as_all_is_plain(stores: Stores) -> None:
    store = stores.all[0]
    listed = [(0, 1, 0)] * 6
    while listed[-1][0] - listed[0][0] != 5 * listed[0][1]:  # another file of the log may begin between them
        topic = stores.put([(0, f"n\x01{n}\x02", 5, V4) for n in range(6)])
        listed = store.reads.entries(topic, 0, 0, 6)
    base, size = listed[0][0], listed[0][1]
    view = b"".join(raw_records(store, topic))
    entries = b"".join(struct.pack(">qiq", *each) for each in listed)
    found = verdicts(Asked())
    whole = {"base": base, "stop": base + len(view)}
    places = {n: (n, base + n * size, size) for n in range(6)}
    assert isinstance(found, RecordsAhead)
    assert ahead(found, entries, view, **whole) == ((6, 2 * size), [places[1], places[3]])
    assert ahead(found, entries, view, 2, **whole) == ((4, size), [places[3]])
    assert ahead(found, entries, view, 6, **whole) == ahead(found, entries, view, 99, **whole) == ((0, 0), [])
    # No more than may be picked; the first is, however large.
    assert ahead(found, entries, view, limits=(1, 1), **whole) == ((2, size), [places[1]])
    already = [(0, 0, 50)]
    assert ahead(found, entries, view, picked=already, size=50, limits=(32, 49 + size), **whole) == (
        (0, 50),
        already,
    )
    # What is not in the window, not in the log any more, or is no record of this queue.
    assert ahead(found, entries, view, base=base, stop=base + 2 * size) == ((2, size), [places[1]])
    assert ahead(found, entries, view[: 2 * size - 1], **whole) == ((1, 0), [])
    assert ahead(found, entries, view, base=base + 1, stop=whole["stop"]) == ((0, 0), [])
    assert ahead(found, entries, view, log_start=base + 1, **whole) == ((0, 0), [])
    assert ahead(found, entries, view, queue_id=1, **whole) == ((0, 0), [])
    for at, byte in ((3, 1), (15, 1), (35, 1)):
        damaged = bytearray(view)
        damaged[2 * size + at] ^= byte
        assert ahead(found, entries, bytes(damaged), **whole)[0] == (2, size)
    filler = entries[:40] + struct.pack(">qiq", 0, 2**31 - 1, 0) + entries[60:]
    assert ahead(found, filler, view, **whole)[0] == (2, size)
    for record_bytes in (0, -1, 87, 2**31 - 1):
        wrong = entries[:48] + struct.pack(">i", record_bytes) + entries[52:]
        assert ahead(found, wrong, view, **whole)[0] == (2, size)
    assert ahead(found, entries[:-1], view, **whole)[0] == (5, 2 * size)


async def test_a_broker_remembers_verdicts() -> None:
    async with ClusterScene(topics={"t": 1}) as scene:
        for number in range(40):
            await scene.client.ok_send("t", f"UNIQ_KEY\x01K\x02n\x01{number}\x02half\x01{number // 2}\x02")
        expression = {"expression_type": "SQL92", "subscription": "half BETWEEN 3 AND 5 AND n <> 8"}
        answer = await scene.client.pull("t", **expression)
        assert [int(m.properties["n"]) for m in decode_records(answer.body)] == [6, 7, 9, 10, 11]
        records = scene.cluster.broker.service_port.filters.own("SQL92", expression["subscription"]).records
        assert isinstance(records, RecordVerdicts)
        assert len(records) == 40
