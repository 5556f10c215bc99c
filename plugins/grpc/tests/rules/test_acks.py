from __future__ import annotations

import pytest
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.acks import all_done
from mqframe_grpc.rules.codes import overall, status

HANDLE = "17 1795971784500 60000 3 0 broker-a 3 19 1234567"


@pytest.mark.parametrize(
    "entries",
    [
        [("01A", HANDLE)],
        [("", HANDLE), ("id", "")],
        [("é" * 40, "h" * 127), ("i" * 128, "h" * 20_000)],
        [(f"id-{at}", HANDLE) for at in range(100)],
    ],
)
def test_it_is_what_its_fields_say(entries: list[tuple[str, str]]) -> None:
    expected = m.AckMessageResponse(
        status=overall([m.Code.OK]),
        entries=[
            m.AckMessageResultEntry(message_id=name, receipt_handle=handle, status=status(m.Code.OK))
            for name, handle in entries
        ],
    )
    found = all_done(entries)
    assert found.status == expected.status
    assert found.SerializeToString() == expected.SerializeToString()
