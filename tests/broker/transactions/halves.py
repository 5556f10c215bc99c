"""Half messages, their ends and their producers, as the tests of transactions make them."""

from __future__ import annotations

from typing import Any

from mqframe.core.bodies import ConsumerOffsetTable
from mqframe.core.frame import Frame
from mqframe.core.loosejson import decode
from mqframe.core.message import ReceivedMessage
from mqframe.core.record import decode_record, decode_records
from mqframe.core.requests.admin import GetAllConsumerOffset
from mqframe.core.requests.messages import CheckTransactionState, EndTransaction
from mqframe.core.topics import HALF_TOPIC, OP_HALF_TOPIC
from mqframe.core.transaction_rules import CHECK_GROUP
from mqframe.net.call import Call

HALF = "UNIQ_KEY\x01U1\x02TRAN_MSG\x01true\x02PGROUP\x01p\x02TAGS\x01red\x02WAIT\x01true\x02"
COMMIT, ROLLBACK, UNKNOWN = 8, 12, 0
INTERVAL = 30.0


def stored(world: Any, topic: str, queue_id: int = 0) -> list[ReceivedMessage]:
    found = world.store.get(topic, queue_id, 0, 1000)
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
    answer: Frame = await world.talker.send("t", body, HALF + more, **fields)
    assert answer.code == 0, answer.remark
    return answer


async def end(world: Any, answer: Frame, outcome: int, **fields: Any) -> Frame:
    done: Frame = await world.talker.invoke(end_request(answer, outcome, **fields))
    return done


class Asked:
    """A producer that answers check-backs with `outcome`, or not at all."""

    def __init__(self, talker: Any, outcome: int | None = None) -> None:
        self.talker = talker
        self.outcome = outcome
        self.requests: list[CheckTransactionState] = []
        self.halves: list[ReceivedMessage] = []
        talker.client.serve(39, self.check)

    def check(self, call: Call) -> None:
        fields = call.fields(CheckTransactionState)
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
    talker = world.join() if beat else world.talker
    asked = Asked(talker, outcome)
    await talker.beat("", producers=["p"], **beat)
    return asked


async def rounds(world: Any, count: int) -> None:
    for _ in range(count):
        await world.clock.aadvance(INTERVAL)


async def cursors(world: Any) -> tuple[Any, ...]:
    answer = await world.talker.ok(GetAllConsumerOffset())
    table = decode(memoryview(answer.body), ConsumerOffsetTable).offset_table
    return tuple(table.get(f"{topic}@{CHECK_GROUP}", {}).get(0) for topic in (HALF_TOPIC, OP_HALF_TOPIC))
