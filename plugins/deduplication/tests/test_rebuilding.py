"""Records of the log become what was known of their sends."""

from __future__ import annotations

import pytest
from mqframe_deduplication.options import DeduplicationOptions
from mqframe_deduplication.rebuilding import Rebuilding, WindowTable
from mqframe_deduplication.window import First, Window, identity

from mqframe.core.messages.message import ReceivedMessage
from mqframe.core.messages.properties import encode_properties
from mqframe.core.wire import loose_json


def record(properties: dict[str, str], topic: str = "orders", sys_flag: int = 0) -> ReceivedMessage:
    raw = encode_properties(properties).encode()
    return ReceivedMessage(
        topic, 2, 7, 400, 90, 0, 5_000, b"", b"", 0, sys_flag, 0, 0, 0, b"x", raw, "broker-a"
    )


def rebuilt(message: ReceivedMessage, **options: object) -> Window:
    window = Window(10_000, 10)
    Rebuilding(DeduplicationOptions(**options), window, "broker-a").note(message)  # type: ignore[arg-type]
    return window


def test_a_record_with_a_key_is_its_first_result() -> None:
    window = rebuilt(record({"IDEMPOTENCE_KEY": "k", "UNIQ_KEY": "u"}))
    assert window.find(identity("orders", "", "k"), 5_000) == First(400, 90, 2, 7, 5_000, "u")


@pytest.mark.parametrize(
    "message",
    [
        record({"UNIQ_KEY": "u"}),
        record({"OTHER": "IDEMPOTENCE_KEY"}),
        record({"IDEMPOTENCE_KEY": "k", "REAL_TOPIC": "orders"}),
        record({"IDEMPOTENCE_KEY": "k"}, "%RETRY%billing"),
        record({"IDEMPOTENCE_KEY": "k", "TRAN_MSG": "true"}, "RMQ_SYS_TRANS_HALF_TOPIC", 4),
        record({"IDEMPOTENCE_KEY": "k", "TRAN_MSG": "true"}, "orders", 8),
    ],
)
def test_other_records_say_nothing(message: ReceivedMessage) -> None:
    assert len(rebuilt(message)) == 0


def test_records_that_were_stored_without_a_group_take_no_part_where_groups_count() -> None:
    assert len(rebuilt(record({"IDEMPOTENCE_KEY": "k"}), scope="group")) == 0
    window = rebuilt(record({"IDEMPOTENCE_KEY": "k", "IDEMPOTENCE_GROUP": "shop"}), scope="group")
    assert window.find(identity("orders", "shop", "k"), 5_000) is not None


def test_where_to_read_from_is_saved_when_it_moves() -> None:
    table = WindowTable()
    assert table.dump().rebuild_from == -1
    table.move(400)
    table.move(400)
    assert table.changes == 1
    again = WindowTable()
    again.load(loose_json.decode(loose_json.dumps(table.dump()), type(table.dump())))
    assert again.rebuild_from == 400
