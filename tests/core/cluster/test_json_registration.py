"""Registrations in JSON, member by member: what they say, and steps that are alike, whatever is in them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.cluster.json_registration import STEP_BYTES, VALUE_BYTES_MAX, json_steps
from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfig
from mqframe.core.errors import BodyError
from mqframe.core.wire.loose_json import decode

WHOLE = b"""
 { "filterServerList" : ["a:1", "b:2"], "brokerName": "b", "more": {"x": [1, {"y": "}"}], "z": null},
   "topicConfigSerializeWrapper": {
     "dataVersion": {"counter": 7, "stateVersion": 2, "timestamp": 3}, "mappingDataVersion": {"counter": 1},
     "topicConfigTable": {
       "a": {"attributes": {"+message.type": "FIFO"}, "perm": 4, "readQueueNums": 2, "topicName": "a"},
       "q\\"uote\\u00e4": {"writeQueueNums": 3, "unknown": [[{}], "\\\\"]}, "empty": {} },
     "topicQueueMappingDetailMap": {"s": {"hostedQueues": {0: [{"gen": 0}]}}},
     "topicQueueMappingInfoMap": {"s": {"bname": "b", "currIdMap": {0: 0, 1: 1}, "x,5:": "{6:"}} } }
"""


def read(data: bytes) -> tuple[RegisterBrokerBody, dict[str, TopicConfig]]:
    body = RegisterBrokerBody()
    topics = dict(filter(None, json_steps(data, body)))
    return body, topics


def test_all_that_is_looked_at() -> None:
    body, topics = read(WHOLE)
    table = body.topic_config_serialize_wrapper
    assert body.filter_server_list == ["a:1", "b:2"]
    version = table.data_version
    assert (version.counter, version.state_version, version.timestamp) == (7, 2, 3)
    assert topics == {
        "a": TopicConfig(attributes={"+message.type": "FIFO"}, perm=4, read_queue_nums=2, topic_name="a"),
        'q"uoteä': TopicConfig(write_queue_nums=3),
        "empty": TopicConfig(),
    }
    assert table.topic_queue_mapping_info_map == {
        "s": {"bname": "b", "currIdMap": {"0": 0, "1": 1}, "x,5:": "{6:"}
    }


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b"{ }",
        b'{"topicConfigSerializeWrapper":{}}',
        b'{"topicConfigSerializeWrapper":null}',
        b'{"filterServerList":null,"topicConfigSerializeWrapper":'
        b'{"topicConfigTable":null,"topicQueueMappingInfoMap":null}}',
        b'{"topicConfigSerializeWrapper":{"topicConfigTable":{ }}} ',
    ],
)
def test_what_is_missing(text: bytes) -> None:
    assert read(text) == (RegisterBrokerBody(), {})


texts = st.recursive(
    st.none() | st.booleans() | st.integers(0, 99) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), texts, max_size=4), st.booleans())
def test_what_is_not_known_is_skipped(more: dict[str, object], within: bool) -> None:
    known = {"topicConfigTable": {"t": {"perm": 2}}}
    sent = {"topicConfigSerializeWrapper": {**more, **known} if within else known, **({} if within else more)}
    for indent in (None, 2):
        assert read(json.dumps(sent, indent=indent).encode())[1] == {"t": TopicConfig(perm=2)}


@given(st.integers(0, len(WHOLE) - 1), st.binary(max_size=3))
def test_a_damaged_one_is_refused_or_read_and_never_more_than_that(at: int, instead: bytes) -> None:
    damaged = WHOLE[:at] + instead + WHOLE[at + len(instead) + 1 :]
    try:
        body, topics = read(damaged)
    except BodyError:
        pass
    else:
        assert body.topic_config_serialize_wrapper.topic_config_table == {}
        assert len(topics) <= 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"[]", "an object is expected"),
        (b'{"a":1', "',' or '}' is expected"),
        (b'{"a":1} x', "something follows"),
        (b"{'a':1}", "a key is expected"),
        (b'{"a"}', "a key is expected"),
        (b'{"a":}', "no value"),
        (b'{"a":1,}', "a key is expected"),
        (b'{"filterServerList":[1]}', "Expected `str`"),
        (b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"t":{"perm":"no"}}}}', "perm"),
        (b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"t":[]}}}', "Expected `object`"),
        (b'{"topicConfigSerializeWrapper":{"topicQueueMappingInfoMap":{"t":[]}}}', "Expected `object`"),
        (b'{"a":' + b"[" * 50 + b"]" * 50 + b"}", "nested deeper"),
        (b'{"a":"' + b"x" * VALUE_BYTES_MAX + b'"}', "longer than 262144 bytes"),
        (b"{" + b" " * VALUE_BYTES_MAX + b'"a":1}', "a key is expected"),
    ],
)
def test_what_is_wrong_and_where(text: bytes, said: str) -> None:
    with pytest.raises(BodyError, match=said) as caught:
        read(text)
    assert "registration in JSON, byte " in str(caught.value)


@pytest.mark.parametrize(
    "member",
    [
        b'"filterServerList":[%b]' % b",".join([b'"s"'] * 5000),
        b'"topicConfigSerializeWrapper":{"topicConfigTable":{%b}}'
        % b",".join(b'"%d":{"attributes":{"a":"%b"}}' % (n, b"x" * 900) for n in range(50)),
        b'"topicConfigSerializeWrapper":{"topicQueueMappingInfoMap":{%b}}'
        % b",".join(b'"%d":{%b}' % (n, b",".join(b"%d:0" % k for k in range(200))) for n in range(50)),
        b'"topicConfigSerializeWrapper":{"more":{%b}}' % b",".join(b'"%d":[]' % n for n in range(5000)),
        b'"topicConfigSerializeWrapper":{"more":[%b]}' % b",".join([b"[]"] * 5000),
        b'"more":{%b}' % b",".join(b'"%d":[]' % n for n in range(5000)),
    ],
    ids=["servers", "topics", "mappings", "members", "a list", "outside"],
)
def test_there_are_steps_for_all_that_takes_time(member: bytes) -> None:
    steps = list(json_steps(b"{%b}" % member, RegisterBrokerBody()))
    if member.startswith(b'"filterServerList"'):
        return  # one value, as short as one may be
    assert len(steps) >= len(member) // (2 * STEP_BYTES)


def test_it_says_what_a_whole_decoder_says_of_many_topics() -> None:
    entry = b'"T%d":{"order":%b,"perm":6,"readQueueNums":%d,"topicName":"T%d","writeQueueNums":8}'
    text = b'{"topicConfigSerializeWrapper":{"topicConfigTable":{%b}}}' % b",".join(
        entry % (n, b"true" if n % 3 else b"false", n % 16, n) for n in range(2000)
    )
    whole = decode(text, RegisterBrokerBody).topic_config_serialize_wrapper.topic_config_table
    assert read(text)[1] == whole
    assert len(whole) == 2000
