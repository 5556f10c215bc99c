from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import REQUESTS as RECORDED
from recorded import RESPONSES, Recorded
from request_kinds import ROCKETMQ_S

from mqframe.core.errors import HeaderError
from mqframe.core.requests import REQUESTS, Header, decode_fields, encode_fields
from mqframe.core.requests.fields import Request, request
from mqframe.core.requests.messages import PullMessage, SendMessageV2

KNOWN = [recorded for recorded in RECORDED if recorded.facts["code"] in ROCKETMQ_S]
KINDS = sorted(REQUESTS.items())


def wire_names(kind: type[Header]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_all_recorded_codes_are_in_the_table() -> None:
    assert {recorded.facts["code"] for recorded in RECORDED} <= ROCKETMQ_S.keys()


@pytest.mark.parametrize("recorded", KNOWN, ids=str)
def test_recorded_requests_decode_into_their_kind_and_back(recorded: Recorded) -> None:
    ext = recorded.facts["extFields"] or {}
    kind = ROCKETMQ_S[recorded.facts["code"]]
    fields = decode_fields(ext, kind)
    again = encode_fields(fields)
    assert decode_fields(again, kind) == fields
    known = {name: value for name, value in ext.items() if name in wire_names(kind)}
    assert {name: value for name, value in again.items() if name in known} == known


@pytest.mark.parametrize(
    "recorded", [r for r in RESPONSES if r.request_code in ROCKETMQ_S and r.facts["code"] == 0], ids=str
)
def test_recorded_answers_decode_into_their_kind_and_back(recorded: Recorded) -> None:
    ext = recorded.facts["extFields"] or {}
    kind = ROCKETMQ_S[recorded.request_code].ANSWER
    again = encode_fields(decode_fields(ext, kind))
    known = {name: value for name, value in ext.items() if name in wire_names(kind)}
    assert {name: value for name, value in again.items() if name in known} == known


@pytest.mark.parametrize(("code", "kind"), KINDS)
def test_every_kind_states_its_code_and_answer(code: int, kind: type) -> None:
    assert code == kind.CODE
    assert issubclass(kind.ANSWER, Header)
    assert kind.__doc__


@pytest.mark.parametrize(("code", "kind"), KINDS)
def test_every_required_field_is_missed_by_name(code: int, kind: type) -> None:
    for field in msgspec.structs.fields(kind):
        if field.required:
            with pytest.raises(HeaderError, match=f"{kind.__name__}.*required field `"):
                decode_fields({}, kind)


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("queueId", "x", "queueId"),
        ("queueId", str(2**31), "queueId"),
        ("queueOffset", str(2**63), "queueOffset"),
        ("queueOffset", "1.5", "queueOffset"),
        ("sysFlag", "", "sysFlag"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(field: str, value: str, problem: str) -> None:
    pull = PullMessage("g", "t", 0, 0, 32, 0, 0, 0, 0)
    with pytest.raises(HeaderError, match=f"PullMessage.*{problem}"):
        decode_fields({**encode_fields(pull), field: value}, PullMessage)


@given(
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.none() | st.booleans(),
    st.none() | st.text(max_size=10),
)
def test_fields_survive(number: int, long: int, batch: bool | None, properties: str | None) -> None:
    sent = SendMessageV2("g", "t", "TBW102", 4, number, 0, long, 0, properties, batch=batch)
    ext = encode_fields(sent)
    assert all(isinstance(value, str) for value in ext.values())
    assert decode_fields(ext, SendMessageV2) == sent


def test_unknown_fields_are_ignored_and_numeric_text_stays_text() -> None:
    kind = SendMessageV2
    ext = encode_fields(kind("1", "2", "3", 4, 5, 6, 7, 8, "9")) | {"zz": "x"}
    assert decode_fields(ext, kind) == kind("1", "2", "3", 4, 5, 6, 7, 8, "9")


def test_a_code_is_entered_once() -> None:
    with pytest.raises(ValueError, match="request code 310"):
        request(310)(type("Another", (SendMessageV2,), {}))


def test_a_class_that_is_made_again_takes_its_own_place() -> None:
    def made() -> type[Request]:
        @request(39_999)
        class Mine(Request):
            """Entered each time that its module is loaded."""

        return Mine

    try:
        first, again = made(), made()
        assert first is not again
        assert REQUESTS[39_999] is again
    finally:
        del REQUESTS[39_999]
