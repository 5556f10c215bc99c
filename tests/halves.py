"""Half messages, their ends and their producers, as the tests of transactions make them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mqframe_transactions.requests import SendHalfBatch
from mqframe_transactions.rules.half_rules import CHECK_GROUP

from mqframe.core.consuming.bodies import ConsumerOffsetTable
from mqframe.core.messages.batch import encode_element
from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.names import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.requests.admin import GetAllConsumerOffset
from mqframe.core.requests.messages import CheckTransactionState, EndTransaction
from mqframe.core.requests.serving import Call, serves
from mqframe.core.storage.record import decode_record, decode_records
from mqframe.core.wire.frame import Frame
from mqframe.core.wire.loose_json import decode

HALF = "UNIQ_KEY\x01U1\x02TRAN_MSG\x01true\x02PGROUP\x01p\x02TAGS\x01red\x02WAIT\x01true\x02"
COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
INTERVAL = 30.0
FOUR = [b"one", b"two", b"three", b"four"]


def stored(world: Any, topic: str, queue_id: int = 0) -> list[ReceivedMessage]:
    found = world.store.reads.get(topic, queue_id, 0, 1000)
    return [message for part in found.parts for message in decode_records(part)]


def bodies(world: Any, topic: str = "t", queue_id: int = 0) -> list[bytes]:
    return [message.body for message in stored(world, topic, queue_id)]


def end_request(answer: Frame, outcome: int, **fields: Any) -> EndTransaction:
    ext = answer.ext or {}
    values: dict[str, Any] = {
        "producer_group": "p",
        "tran_state_table_offset": int(ext["queueOffset"]),
        "commit_log_offset": int(ext["msgId"][-16:], 16),
        "commit_or_rollback": outcome,
        "msg_id": ext["transactionId"],
        "transaction_id": ext["transactionId"],
    }
    return EndTransaction(**(values | fields))


async def half(world: Any, body: bytes = b"body", more: str = "", **fields: Any) -> Frame:
    fields = {"born_timestamp": world.clock.now_ms(), "sys_flag": 4, **fields}
    answer: Frame = await world.client.send("t", body, HALF + more, **fields)
    assert answer.code == 0, answer.remark
    return answer


async def end(world: Any, answer: Frame, outcome: int, **fields: Any) -> Frame:
    done: Frame = await world.client.invoke(end_request(answer, outcome, **fields))
    return done


class Asked:
    """A producer that answers check-backs with `outcome`, or not at all."""

    def __init__(self, talker: Any, outcome: int | None = None) -> None:
        self.talker = talker
        self.outcome = outcome
        self.requests: list[CheckTransactionState] = []
        self.halves: list[ReceivedMessage] = []
        talker.client.serve(self)

    @serves(CheckTransactionState)
    def check(self, fields: CheckTransactionState, call: Call) -> None:
        self.requests.append(fields)
        self.halves.append(decode_record(bytes(call.frame.body)))
        if self.outcome is not None:
            call.peer.oneway(
                EndTransaction(
                    producer_group=self.halves[-1].properties["PGROUP"],
                    tran_state_table_offset=fields.tran_state_table_offset,
                    commit_log_offset=fields.commit_log_offset,
                    commit_or_rollback=self.outcome,
                    msg_id=fields.msg_id or "",
                    from_transaction_check=True,
                )
            )


async def producer(world: Any, outcome: int | None = None, **beat: Any) -> Asked:
    talker = world.connect() if beat else world.client
    asked = Asked(talker, outcome)
    await talker.heartbeat("", producers=["p"], **beat)
    return asked


async def rounds(world: Any, count: int) -> None:
    for _ in range(count):
        await world.clock.aadvance(INTERVAL)


async def cursors(world: Any) -> tuple[Any, ...]:
    answer = await world.client.ok(GetAllConsumerOffset())
    table = decode(memoryview(answer.body), ConsumerOffsetTable).offset_table
    return tuple(table.get(f"{topic}@{CHECK_GROUP}", {}).get(0) for topic in (HALF_TOPIC, OP_HALF_TOPIC))


def batch(bodies: list[bytes]) -> bytes:
    return b"".join(
        encode_element(body, b"UNIQ_KEY\x01%s\x02TAGS\x01red\x02" % body, number)
        for number, body in enumerate(bodies)
    )


async def send_batch(world: Any, body: bytes, count: int, more: str = "", **fields: Any) -> Frame:
    values: dict[str, Any] = {
        "producer_group": "p", "topic": "t", "default_topic": "TBW102", "default_topic_queue_nums": 4,
        "queue_id": 0, "sys_flag": 4, "born_timestamp": world.clock.now_ms(), "flag": 0, "batch": True,
        "properties": f"{HALF}HALF_BATCH\x01{count}\x02job\x017\x02{more}",
    }  # fmt: skip
    answer: Frame = await world.client.invoke(SendHalfBatch(**(values | fields)), body)
    return answer


async def prepare(world: Any, sent: list[bytes] = FOUR, **fields: Any) -> Frame:
    answer = await send_batch(world, batch(sent), len(sent), **fields)
    assert answer.code == 0, answer.remark
    return answer


def offset_of(answer: Frame) -> int:
    return int((answer.ext or {})["msgId"][-16:], 16)


def first_file(world: Any) -> Path:
    found: Path = world.cluster.directory / "broker-a/commitlog" / ("0" * 20)
    return found


async def cut(world: Any, offset: int) -> None:
    """Kill the broker, lose the log from `offset` on, start again."""
    await world.cluster.kill_broker()
    file = first_file(world)
    with file.open("r+b") as log:
        log.seek(offset)
        log.write(bytes(file.stat().st_size - offset))
    await world.cluster.start_broker()


def local_half(local: Any, body: bytes = b"body", **more: Any) -> ReceivedMessage:
    """A half for queue 1 of `t` in a store without a broker; keywords as of `LocalStore.put`."""
    held = {"REAL_TOPIC": "t", "REAL_QID": 1, "PGROUP": "p", "TRAN_MSG": "true", "UNIQ_KEY": "U1"}
    at = local.put(HALF_TOPIC, body, **(held | more)).commit_log_offset
    found: ReceivedMessage = local.at(at)
    return found
