from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.consuming.bodies import OffsetTableBody
from mqframe.core.errors import BodyError
from mqframe.core.messages.message import MessageQueue
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import DataVersion

plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain, inner, max_size=4),
    max_leaves=12,
)
queues = st.builds(MessageQueue, plain, plain, st.integers(0, 2**31 - 1))


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


@given(values)
def test_json_is_read_as_json(value: Any) -> None:
    assert loose_json.loads(json.dumps(value)) == value


@given(values)
def test_values_survive_without_nulls(value: Any) -> None:
    assert loose_json.loads(loose_json.dumps(value)) == without_nulls(value)


@given(st.dictionaries(queues, st.integers(), max_size=4), values)
def test_queue_keys_survive(table: dict[MessageQueue, int], beside: Any) -> None:
    value = {"table": table, "beside": [beside]}
    assert loose_json.loads(loose_json.dumps(value)) == without_nulls(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{0:"a",1:{2:3}}', {"0": "a", "1": {"2": 3}}),
        ("{-1:true}", {"-1": True}),
        ("{'a':'it''s'}", None),
        ("{'a':'b'}", {"a": "b"}),
        ("{'a\"b':'c\\'d'}", {'a"b': "c'd"}),
        ("{a:1}", {"a": 1}),
        ('{"a":[1,2,],}', {"a": [1, 2]}),
        ('\ufeff {"a" : 1 } \n', {"a": 1}),
        ('{{"brokerName":"b","queueId":1,"topic":"t"}:{"x":2}}', {MessageQueue("t", "b", 1): {"x": 2}}),
        ('{{"x":1}:2}', {'{"x":1}': 2}),
        ('{0:"\\u4e2d\\n"}', {"0": "中\n"}),
        ("{0:1.5e3}", {"0": 1500.0}),
        ("[]", []),
        ("{0:}", None),
        ("{0:1", None),
        ("{0 1}", None),
        ("{0:1}x", None),
        ("", None),
        ("{0:nope}", None),
        ('{0:"open', None),
        ("[1 2]", None),
    ],
)
def test_the_dialect(text: str, value: Any) -> None:
    if value is None:
        with pytest.raises(BodyError, match="JSON"):
            loose_json.loads(text)
    else:
        assert loose_json.loads(text) == value


def test_the_position_of_a_problem_is_told() -> None:
    with pytest.raises(BodyError, match="character 5: a value expected"):
        loose_json.loads("{10: }")


def test_nesting_has_a_limit() -> None:
    with pytest.raises(BodyError, match="nested deeper"):
        loose_json.loads("{0:" * 100)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_or_a_body_error(data: bytes) -> None:
    with contextlib.suppress(BodyError):
        loose_json.loads(data)


@pytest.mark.parametrize("text", ['"\ud800"', "'\udfff'", '{"a":"x\udc80"}', "{'\ud800':1}", "\ud800"])
def test_text_that_no_bytes_can_stand_for_is_a_body_error(text: str) -> None:
    with pytest.raises(BodyError, match="JSON, character"):
        loose_json.loads(text)
    with pytest.raises(BodyError):
        loose_json.decode(text, DataVersion)


@given(st.text("{}[]:,'\"0a\\ \ud800", max_size=30))
def test_any_brackets_give_a_value_or_a_body_error(text: str) -> None:
    with contextlib.suppress(BodyError):
        loose_json.loads(text)


def test_integer_keys_are_written_quoted_and_queues_as_objects() -> None:
    assert loose_json.dumps({0: "a"}) == b'{"0":"a"}'
    table = OffsetTableBody({MessageQueue("t", "b", 1): 7})
    assert loose_json.dumps(table) == b'{"offsetTable":{{"brokerName":"b","queueId":1,"topic":"t"}:7}}'
    assert loose_json.decode(loose_json.dumps(table), OffsetTableBody) == table


def test_a_body_of_the_wrong_shape_is_named() -> None:
    with pytest.raises(BodyError, match=r"DataVersion: .*counter"):
        loose_json.decode(b'{"counter":"x"}', DataVersion)
    with pytest.raises(BodyError, match="UTF-8"):
        loose_json.loads(b"{0:'\xff'}")
    with pytest.raises(BodyError, match="object"):
        loose_json.dumps({"a": object()})


def test_keys_within_keys_are_refused() -> None:
    text = "{" * 3 + '"a":1' + "}:1" * 2 + "}"
    with pytest.raises(BodyError, match="an object as a key within a key"):
        loose_json.loads(text)
    with pytest.raises(BodyError, match="within a key"):
        loose_json.loads('{{"a":{{"b":1}:2}}:3}')
    assert loose_json.loads('{{"a":{"b":1}}:3,{"c":1}:2}') == {'{"a":{"b":1}}': 3, '{"c":1}': 2}


def test_a_key_with_the_names_but_not_the_types_of_a_queue_is_text() -> None:
    assert loose_json.loads('{{"brokerName":[],"queueId":1,"topic":{}}:2}') == {
        '{"brokerName":[],"queueId":1,"topic":{}}': 2
    }


def test_deep_json_is_a_body_error() -> None:
    for text in (b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000):
        with pytest.raises(BodyError, match="nested"):
            loose_json.loads(text)
        with pytest.raises(BodyError, match="nested"):
            loose_json.decode(text, DataVersion)


def test_long_text_has_to_be_json_where_the_dialect_has_a_limit() -> None:
    text = b"{'counter':1}"
    assert loose_json.decode(text, DataVersion, len(text)).counter == 1
    with pytest.raises(BodyError, match=r"13 bytes that are not JSON .* only up to 12 bytes"):
        loose_json.decode(text, DataVersion, 12)
    assert loose_json.decode(b'{"counter":1}', DataVersion, 0).counter == 1


@given(st.text('{}[]:,"a\\null ', max_size=24), st.text('",:a\\null', max_size=6))
def test_what_looks_like_null_in_texts_is_kept(text: str, name: str) -> None:
    value = {"x": None, name: None, text: text, "y": [text, None, {name: None, "z": text}]}
    assert loose_json.loads(loose_json.dumps(value)) == without_nulls(value)


def test_text_that_cannot_be_encoded_is_named() -> None:
    for value in ({"a": "x\udc80"}, {"\udc80": 1}, {MessageQueue("t", "\ud800", 1): 7}, ["\udfff", None]):
        with pytest.raises(BodyError, match=r"'\\ud[0-9a-f]{3}' is no character"):
            loose_json.dumps(value)
