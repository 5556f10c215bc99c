"""The half queue and its op queue: what is written when, and what a restart or a crash leaves open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from broker.conftest import LocalStore
from halves import (
    COMMIT,
    FOUR,
    ROLLBACK,
    Asked,
    bodies,
    cursors,
    cut,
    end,
    half,
    local_half,
    prepare,
    producer,
    rounds,
    stored,
)
from mqframe_testing.cluster_scene import ClusterScene
from mqframe_transactions.broker import half_queue
from mqframe_transactions.broker.half_queue import READ_MESSAGES, HalfQueue
from mqframe_transactions.rules.half_rules import CHECK_GROUP

from mqframe.core.codes import SysFlag
from mqframe.core.consuming.offset_table import OffsetTable
from mqframe.core.errors import Refusal
from mqframe.core.messages import properties as p
from mqframe.core.messages.addresses import encode_host
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC, SCHEDULE_TOPIC
from mqframe.core.storage.record import RecordError
from mqframe.store.incoming import Incoming


def queue_of(local: Any, offsets: OffsetTable | None = None) -> HalfQueue:
    local.offsets = offsets or OffsetTable(local.clock)
    return HalfQueue(local)


def kept(offsets: OffsetTable) -> tuple[int | None, int | None]:
    """The stored offsets of both queues."""
    half_offset, op_offset = (offsets.query(CHECK_GROUP, each, 0) for each in (HALF_TOPIC, OP_HALF_TOPIC))
    return half_offset, op_offset


def ops(local: Any) -> list[bytes]:
    found: list[bytes] = local.bodies(OP_HALF_TOPIC)
    return found


class TestReads:
    async def test_halves_come_in_slices_from_an_offset_on(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            halves = queue_of(local)
            for number in range(40):
                local_half(local, b"%d" % number)
            assert halves.end == 40
            first = await halves.read(0)
            assert [m.body for m in first] == [b"%d" % number for number in range(READ_MESSAGES)]
            assert [m.queue_offset for m in await halves.read(35)] == [35, 36, 37, 38, 39]
            assert await halves.read(40) == []

    async def test_a_message_is_found_where_it_begins_also_before_it_is_confirmed(
        self, tmp_path: Path
    ) -> None:
        async with LocalStore(tmp_path / "store", flush="SYNC_FLUSH") as local:
            halves = queue_of(local)
            first, two = local_half(local, b"one"), local_half(local, b"two")
            found = halves.at(two.commit_log_offset)
            assert found is not None
            assert (found.body, found.topic) == (b"two", HALF_TOPIC)
            assert local.store.log.confirmed_offset == 0
            for wrong in (first.commit_log_offset + 1, local.store.log.max_offset, 1 << 40, -1):
                assert halves.at(wrong) is None

    async def test_it_says_how_long_halves_are_kept(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store", keep_hours=7) as local:
            assert queue_of(local).keep_ms == 7 * 3_600_000


class TestEnds:
    async def test_a_commit_stores_the_message_and_right_behind_it_its_op(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            halves = queue_of(local)
            local_half(local, b"open")
            one = local_half(local, b"paid")
            local.clock.advance(3)
            delivered = halves.commit(one)
            [message], [op] = local.messages("t", 1), local.messages(OP_HALF_TOPIC)
            assert (message.body, delivered.messages, delivered.topic) == (b"paid", 1, "t")
            assert (op.body, op.tag, op.properties) == (b"1", "d", {"WAIT": "true", "TAGS": "d"})
            assert op.commit_log_offset == delivered.end
            assert op.born_timestamp == local.clock.now_ms()
            assert (halves.table.place(0), halves.table.place(1)) == (0, None)

    async def test_who_offers_to_store_commits_is_asked_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[tuple[object, ...]] = []

        def commits(*arguments: Any) -> Any:
            asked.append(arguments)
            if len(asked) == 1:
                return None
            _, (topic, queue_id, _), (op_topic, op_queue), (body, _), _ = arguments
            message = local.put(topic, b"paid", queue_id)
            return message, local.put(op_topic, body, op_queue)

        async with LocalStore(tmp_path / "store") as local:
            monkeypatch.setattr(local, "offered", {"speedups.commits": commits}.get)
            halves, made = queue_of(local), [local_half(local, b"%d" % n) for n in range(4)]
            made.append(local_half(local, DELAY="1"))
            copy, _ = halves.put_back(made[3])
            await halves.recover()
            for one in made[0], made[1]:
                record = halves.record_at(one.commit_log_offset)
                assert record is not None
                delivered = halves.commit(one, record)
                assert (delivered.topic, delivered.messages) == ("t", 1)
                room = one.store_size + 1024
                op = b"%d" % one.queue_offset, b"WAIT\x01true\x02TAGS\x01d\x02"
                assert asked[-1] == (
                    record,
                    ("t", 1, SysFlag.TRANSACTION_COMMIT),
                    (OP_HALF_TOPIC, 0),
                    op,
                    room,
                )
            for one in made[2], made[4], local.at(copy.commit_log_offset):
                halves.commit(one, b"" if one is made[2] else b"its record")
            assert len(asked) == 2, "not of halves of which more is to be known than their records"
            assert local.bodies("t", 1) == [b"0", b"paid", b"2", b"3"]
            assert ops(local)[:2] == [b"0", b"1"]
            assert [halves.table.place(root) for root in range(5)] == [None] * 5

    async def test_an_end_counts_once(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            halves, one = queue_of(local), local_half(local)
            halves.close(one)
            halves.close(one)
            assert (ops(local), local.bodies("t", 1), halves.table.place(0)) == ([b"0"], [], None)

    async def test_a_commit_that_is_refused_leaves_it_open(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            halves, one = queue_of(local), local_half(local)
            local.take_only(0)
            with pytest.raises(Refusal):
                halves.commit(one)
            local.take_only(None)
            assert (ops(local), halves.table.place(0)) == ([], 0)
            halves.commit(one)
            assert (local.bodies("t", 1), ops(local)) == ([b"body"], [b"0"])

    async def test_an_op_that_is_refused_changes_nothing_of_the_end(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            halves, one = queue_of(local), local_half(local)
            local.take_only(1)
            assert halves.commit(one).messages == 1
            local.take_only(None)
            assert (local.bodies("t", 1), ops(local), halves.table.place(0)) == ([b"body"], [], None)
            halves.close(one)
            assert ops(local) == []


class TestCopies:
    async def test_a_copy_stands_for_the_first_half_and_its_end_names_the_copy(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            halves, one = queue_of(local), local_half(local, b"slow", TAGS="red")
            local_half(local, b"other")
            stored, properties = halves.put_back(one, 1)
            assert properties == one.properties | {
                "TRAN_PREPARED_QUEUE_OFFSET": "0",
                "TRANSACTION_CHECK_TIMES": "1",
            }
            copy = local.at(stored.commit_log_offset)
            assert (copy.topic, copy.queue_offset, copy.body) == (HALF_TOPIC, 2, b"slow")
            assert (copy.properties, copy.born_timestamp) == (properties, one.born_timestamp)
            again, unasked = halves.put_back(copy)
            assert (again.queue_offset, unasked) == (3, properties)
            assert (halves.table.place(0), halves.table.moved) == (3, 1)
            halves.commit(one)  # an end may come for any of its places
            assert (ops(local), local.bodies("t", 1)) == ([b"3"], [b"slow"])
            assert [halves.table.place(root) for root in (0, 1)] == [None, 1]

    async def test_a_copy_that_is_refused_changes_nothing(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            halves, one = queue_of(local), local_half(local)
            local.take_only(0)
            with pytest.raises(Refusal):
                halves.put_back(one, 1)
            local.take_only(None)
            assert (halves.end, halves.table.place(0), halves.table.moved) == (1, 0, 0)

    async def test_a_half_may_go_to_another_topic_with_other_properties(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            halves, one = queue_of(local), local_half(local, b"given up", born_timestamp=5)
            halves.put("aside", one, {"KEYS": "k"})
            [aside] = local.messages("aside")
            assert (aside.body, aside.properties, aside.born_timestamp) == (b"given up", {"KEYS": "k"}, 5)
            assert (ops(local), halves.table.place(0)) == ([], 0)


class TestOffsets:
    async def test_they_pass_what_has_ended_and_stop_at_what_is_open(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            offsets = OffsetTable(local.clock)
            halves = queue_of(local, offsets)
            first, second, third = (local_half(local, body) for body in (b"1", b"2", b"3"))
            halves.close(second)
            halves.advance()
            assert kept(offsets) == (0, 0)
            halves.close(first)
            halves.advance()
            assert kept(offsets) == (2, 2)
            local.store.dispatch.now()
            halves.put_back(third)
            local.store.dispatch.now()
            halves.advance()
            assert kept(offsets) == (3, 2)

    @pytest.mark.parametrize("write", ["commit", "commit without op", "close", "put_back", "put"])
    async def test_they_wait_until_what_was_written_is_durable(self, write: str, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store", flush="SYNC_FLUSH") as local:
            offsets = OffsetTable(local.clock)
            halves, told = queue_of(local, offsets), []
            one = local_half(local)
            halves.when_durable(lambda durable: told.append(("nothing yet", durable)))
            if write == "put":
                halves.put("aside", one, {})
            elif write == "commit without op":
                local.take_only(1)
                halves.commit(one)
            else:
                getattr(halves, write.partition(" ")[0])(one)
            halves.advance()
            halves.when_durable(lambda durable: told.append((write, durable)))
            assert (kept(offsets), told) == ((None, None), [("nothing yet", True)])
            await local.store.stop()  # which flushes
            assert (kept(offsets), told[1:]) == ((0, 0), [(write, True)])

    async def test_they_pass_what_is_no_longer_kept(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store", commit_log_file_bytes=8192) as local:
            offsets = OffsetTable(local.clock)
            halves = queue_of(local, offsets)
            made = [local_half(local, b"x" * 3000) for _ in range(8)]
            for path in sorted((local.store.settings.directory / "commitlog").iterdir())[:2]:
                os.utime(path, (0, 0))
            local.store.clean(any_hour=True)
            assert local.store.queues.min_offset(HALF_TOPIC, 0) == 4
            halves.advance()
            assert kept(offsets) == (4, 0)
            assert [halves.table.place(root) for root in (3, 4)] == [None, 4]
            assert halves.at(made[3].commit_log_offset) is None


class TestRecovery:
    async def test_a_new_one_finds_the_same_open(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            offsets = OffsetTable(local.clock)
            halves = queue_of(local, offsets)
            made = [local_half(local, b"%d" % number) for number in range(100)]
            for one in made[:40]:
                halves.close(one)
            local.store.dispatch.now()
            halves.advance()
            assert kept(offsets) == (40, 40)
            for one in made[60:]:
                halves.close(one)
            copies = [halves.put_back(one, 1)[0].queue_offset for one in made[40:50]]
            local_half(local, b"open, beside the copies")
            halves.close(made[45])
            local.store.dispatch.now()
            places = [halves.table.place(root) for root in range(111)]
            still_open = [root for root, place in enumerate(places) if place is not None and root < 100]
            assert still_open == [*range(40, 45), *range(46, 60)]
            assert places[110] == 110
            again = queue_of(local, offsets)
            await again.recover()
            assert [again.table.place(root) for root in range(111)] == places
            assert (again.table.place(44), again.table.moved) == (copies[4], 9)
            assert (again.table.half_cursor, again.table.op_cursor) == (50, 40)

    async def test_bytes_that_are_no_record_take_no_others_with_them(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        decode_all = half_queue.decode_records

        def failing(part: Any) -> list[Any]:
            messages = list(decode_all(part))
            if any(message.stored_body in (b"damaged", b"3") for message in messages):
                raise RecordError("no record")
            return messages

        async with LocalStore(tmp_path / "store") as local:
            offsets = OffsetTable(local.clock)
            halves = queue_of(local, offsets)
            made = [local_half(local, body) for body in (b"0", b"damaged", b"2")]
            copy = halves.put_back(made[0], 1)[0].queue_offset
            for named in (b"3", b"2"):  # the first of them cannot be read
                local.put(OP_HALF_TOPIC, named, TAGS="d")
            monkeypatch.setattr(half_queue, "decode_records", failing)
            again = queue_of(local, offsets)
            await again.recover()
            assert [again.table.place(root) for root in range(3)] == [copy, 1, None]
            assert [each.body for each in await again.read(0)] == [b"0", b"2", b"0"]
            noted = local.left_out.messages.newest
            assert [(each.topic, each.queue_offset) for each in noted] == [
                (OP_HALF_TOPIC, 0),
                (HALF_TOPIC, 1),
            ]

    async def test_all_of_a_long_queue_is_read(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            for number in range(1500):
                local.put(OP_HALF_TOPIC, b"%d" % number, TAGS="d")
            for number in range(1501):
                local_half(local, b"%d" % number)
            halves = queue_of(local)
            await halves.recover()
            assert (halves.table.half_cursor, halves.table.op_cursor) == (1500, 1500)
            assert halves.table.place(1500) == 1500

    @pytest.mark.parametrize(("body", "tag"), [(b"4", "x"), (b"", "d"), (b"x,99,", "d")])
    async def test_what_an_op_does_not_say_ends_nothing(self, body: bytes, tag: str, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            for number in range(5):
                local_half(local, b"%d" % number)
            local.put(OP_HALF_TOPIC, body, TAGS=tag)
            local.put(OP_HALF_TOPIC, b"0,2,", TAGS="d")
            halves = queue_of(local)
            await halves.recover()
            assert [halves.table.place(root) for root in range(5)] == [None, 1, None, 3, 4]

    async def test_an_op_that_says_it_is_compressed_is_read_as_it_is(self, tmp_path: Path) -> None:
        # Ops never are; unpacking what is none would keep the broker from starting.
        async with LocalStore(tmp_path / "store") as local:
            for number in range(3):
                local_half(local, b"%d" % number)
            local.put(OP_HALF_TOPIC, b"1", TAGS="d", sys_flag=SysFlag.COMPRESSED)
            halves = queue_of(local)
            await halves.recover()
            assert [halves.table.place(root) for root in range(3)] == [0, None, 2]

    async def test_offsets_beyond_the_queues_count_as_their_ends(self, tmp_path: Path) -> None:
        async with LocalStore(tmp_path / "store") as local:
            offsets = OffsetTable(local.clock)
            offsets.commit(CHECK_GROUP, HALF_TOPIC, 0, 9)
            offsets.commit(CHECK_GROUP, OP_HALF_TOPIC, 0, 9)
            local_half(local)
            local.put(OP_HALF_TOPIC, b"0", TAGS="d")
            halves = queue_of(local, offsets)
            await halves.recover()
            assert (halves.table.half_cursor, halves.table.op_cursor) == (1, 1)


class TestCrashes:
    """A log that ends behind any record of a commit, or in the middle of one."""

    @pytest.mark.parametrize("torn", [0, 1, 40, 150])
    @pytest.mark.parametrize("number", range(6))
    async def test_a_batch_comes_whole_and_once(self, number: int, torn: int) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            await world.client.ok_send("t", "UNIQ_KEY\x01X\x02")
            other = await prepare(world, [b"other"])
            answer = await prepare(world)
            begin = world.store.log.max_offset
            assert (await end(world, answer, COMMIT)).code == 0
            borders = [begin, *(m.commit_log_offset + m.store_size for m in stored(world, "t")[1:])]
            borders.append(world.store.log.max_offset)
            assert len(borders) == 6
            await cut(world, max(begin, borders[number] - torn))
            # What was begun is complete before anybody asks; of what was not even begun nothing is there.
            begun = number >= 1 + bool(torn)
            assert bodies(world) == [b"body", *(FOUR if begun else [])]
            again = await end(world, answer, COMMIT)
            assert again.code == (604 if begun else 0)
            assert bodies(world) == [b"body", *FOUR]
            assert (await end(world, other, COMMIT)).code == 0
            await cut(world, world.store.log.max_offset)
            assert bodies(world) == [b"body", *FOUR, b"other"]
            assert (await end(world, answer, COMMIT)).code == 604

    @pytest.mark.parametrize("number", range(3))
    async def test_a_single_half_comes_once(self, number: int) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world, b"single")
            begin = world.store.log.max_offset
            assert (await end(world, answer, COMMIT)).code == 0
            [message] = stored(world, "t")
            borders = [begin, message.commit_log_offset + message.store_size, world.store.log.max_offset]
            await cut(world, borders[number])
            assert (await end(world, answer, COMMIT)).code == (604 if number else 0)
            assert bodies(world) == [b"single"]

    async def test_a_delayed_half_comes_once(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world, b"later", "DELAY\x013\x02")
            await end(world, answer, COMMIT)
            [waiting] = stored(world, SCHEDULE_TOPIC, 2)
            await cut(world, waiting.commit_log_offset + waiting.store_size)
            assert (await end(world, answer, COMMIT)).code == 604
            await rounds(world, 1)
            assert bodies(world) == [b"later"]

    async def test_the_answer_to_a_check_comes_again(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world, COMMIT)
            await prepare(world)
            await rounds(world, 1)
            assert bodies(world) == FOUR
            second = stored(world, "t")[1]
            await cut(world, second.commit_log_offset + second.store_size)
            assert bodies(world) == FOUR
            await producer(world, COMMIT)
            await rounds(world, 3)
            assert (bodies(world), len(asked.requests)) == (FOUR, 1)

    async def test_a_crash_while_the_rest_is_stored(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await prepare(world)
            await end(world, answer, COMMIT)
            for number in (0, 1, 2, 3):
                message = stored(world, "t")[number]
                await cut(world, message.commit_log_offset + message.store_size)
                assert bodies(world) == FOUR
            assert (await end(world, answer, COMMIT)).code == 604

    async def test_a_message_that_only_looks_committed_closes_nothing(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            answer = await half(world, b"open")  # at log offset 0, which stands for "none" elsewhere
            await world.client.ok_send("t", "UNIQ_KEY\x01X\x02", sys_flag=8)
            await cut(world, world.store.log.max_offset)
            assert (await end(world, answer, COMMIT)).code == 0
            assert bodies(world) == [b"body", b"open"]


class TestRestarts:
    @pytest.mark.parametrize("killed", [True, False])
    async def test_what_was_open_is_open_and_what_ended_has_ended(self, killed: bool) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            asked = await producer(world)
            answers = [await half(world, body) for body in (b"committed", b"rolled back", b"open", b"late")]
            await rounds(world, 1)
            assert len(asked.requests) == 4
            await end(world, answers[0], COMMIT)
            await end(world, answers[1], ROLLBACK)
            await (world.cluster.kill_broker() if killed else world.cluster.stop_broker())
            await world.cluster.start_broker()
            asked.requests.clear()
            asked.halves.clear()
            await producer(world, None)
            assert (await end(world, answers[0], COMMIT)).code == 604
            assert (await end(world, answers[1], COMMIT)).code == 604
            assert (await end(world, answers[3], COMMIT)).code == 0
            asked = Asked(world.client, COMMIT)
            await rounds(world, 2)
            assert [half.body for half in asked.halves] == [b"open"]
            assert bodies(world) == [b"committed", b"late", b"open"]

    async def test_ops_of_newer_brokers_are_read(self) -> None:
        async with ClusterScene(topics={"t": 2}) as world:
            await producer(world)
            for number in range(5):
                await half(world, b"%d" % number)
            host = encode_host("127.0.0.1:1")
            for body, tags in ((b"0,2,", "d"), (b"3", "d"), (b"4", "x"), (b"", "d"), (b"x,99,", "d")):
                text = p.encode_properties({"TAGS": tags})
                world.store.writes.put(Incoming(OP_HALF_TOPIC, 0, body, text, 0, host, host))
            world.store.dispatch.now()
            await world.cluster.restart_broker()
            asked = await producer(world)
            await rounds(world, 1)
            assert [half.body for half in asked.halves] == [b"1", b"4"]
            assert await cursors(world) == (5, 5)
