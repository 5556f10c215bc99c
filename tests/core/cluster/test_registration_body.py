from __future__ import annotations

import zlib

import pytest
from core.cluster.registrations import encode_register_body
from hypothesis import given
from hypothesis import strategies as st

from mqframe.core.cluster.registration_body import (
    PART_BYTES_MAX,
    SMALL_BYTES,
    is_large,
    open_register_body,
)
from mqframe.core.cluster.topic_bodies import RegisterBrokerBody, TopicConfig, TopicConfigTable
from mqframe.core.errors import BodyError
from mqframe.core.wire import loose_json
from mqframe.core.wire.bodies import DataVersion
from mqframe.core.wire.loose_json import DIALECT_BYTES_MAX

names = st.text(st.sampled_from("abc%_-"), min_size=1, max_size=8)
words = st.text(st.sampled_from("+a.b=1"), min_size=1, max_size=5)
configs = st.builds(
    TopicConfig,
    attributes=st.dictionaries(words, words, max_size=2),
    perm=st.integers(0, 15),
    read_queue_nums=st.integers(0, 1000),
    write_queue_nums=st.integers(0, 1000),
)
versions = st.builds(DataVersion, st.integers(0, 99), st.integers(0, 99), st.integers(0, 2**40))


def body(table: dict[str, TopicConfig], version: DataVersion) -> RegisterBrokerBody:
    for name, config in table.items():
        config.topic_name = name
    mappings = {"t": {"topic": "t", "bname": "b"}}
    return RegisterBrokerBody(["f:1"], TopicConfigTable(version, None, table, None, mappings))


def decode_register_body(data: bytes, version: int, compressed: bool) -> RegisterBrokerBody:
    found, topics = open_register_body(data, version, compressed)
    found.topic_config_serialize_wrapper.topic_config_table = dict(filter(None, topics))
    return found


@given(st.dictionaries(names, configs, max_size=4), versions, st.booleans())
def test_registrations_survive(table: dict[str, TopicConfig], version: DataVersion, compressed: bool) -> None:
    sent = body(table, version)
    text = encode_register_body(sent, compressed)
    for padding in (b"",) if compressed else (b"", b" " * DIALECT_BYTES_MAX):
        assert decode_register_body(text + padding, 479, compressed) == sent


def test_old_brokers_send_no_mappings_or_the_table_alone() -> None:
    sent = body({"a": TopicConfig()}, DataVersion(1, 2, 3))
    table = sent.topic_config_serialize_wrapper
    old = decode_register_body(encode_register_body(sent, True), 401, True)
    assert old.topic_config_serialize_wrapper.topic_queue_mapping_info_map == {}
    assert old.topic_config_serialize_wrapper.topic_config_table == table.topic_config_table
    bare = decode_register_body(loose_json.dumps(table), 36, False)
    assert bare.topic_config_serialize_wrapper == table
    assert decode_register_body(b"", 479, False) == RegisterBrokerBody()


@pytest.mark.parametrize(
    "plain", [b"", b"\0\0\0\x02{}", b"\0\0\0\x02{}\x7f\xff\xff\xff", b"\0\0\0\x02{}\0\0\0\1\0\0\0\1x"]
)
def test_a_cut_or_damaged_registration_is_refused(plain: bytes) -> None:
    with pytest.raises(BodyError, match="registration"):
        decode_register_body(zlib.compress(plain), 479, True)


def test_what_is_not_zlib_is_refused() -> None:
    good = encode_register_body(RegisterBrokerBody(), True)
    for bad in (b"not zlib", good[:-3]):
        with pytest.raises(BodyError, match="registration"):
            decode_register_body(bad, 479, True)


def test_topics_are_read_when_they_are_asked_for() -> None:
    text = b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"a":{"perm":2},"b":{"perm":"no"}}}}'
    _, topics = open_register_body(text + b" " * DIALECT_BYTES_MAX, 479, False)
    assert next(topics) == ("a", TopicConfig(perm=2))
    with pytest.raises(BodyError, match="perm"):
        next(topics)


def test_mappings_with_numbers_as_keys_are_read_and_other_dialects_have_a_limit() -> None:
    mapping = b'"topicQueueMappingInfoMap":{"t":{"bname":"b","currIdMap":{0:0,1:1}}}'
    text = b'{"topicConfigSerializeWrapper":{%b,"topicConfigTable":{"t":{"perm":6}}}}' % mapping
    loose = text.replace(b'"t":{"perm"', b"'t':{'perm'")
    assert loose != text
    for small in (text, loose, text + b" " * DIALECT_BYTES_MAX):
        found, topics = open_register_body(small, 479, False)
        assert [each for each in topics if each] == [("t", TopicConfig(perm=6))]
        wrapper = found.topic_config_serialize_wrapper
        assert wrapper.topic_queue_mapping_info_map == {"t": {"bname": "b", "currIdMap": {"0": 0, "1": 1}}}
    _, topics = open_register_body(loose + b" " * DIALECT_BYTES_MAX, 479, False)
    with pytest.raises(BodyError, match="a key is expected"):
        list(topics)
    with pytest.raises(BodyError, match=r"before 3\.0\.11 is too long"):
        open_register_body(text + b" " * DIALECT_BYTES_MAX, 36, False)


def test_a_compressed_registration_has_a_longest_plain_form() -> None:
    packed = encode_register_body(body({"a": TopicConfig()}, DataVersion(1, 2, 3)), True)
    length = len(zlib.decompress(packed))
    _, topics = open_register_body(packed, 479, True, length)
    assert [name for name, _ in topics] == ["a"]
    with pytest.raises(
        BodyError, match=rf"more than {length - 1} plain bytes \(nameserver.registration_bytes"
    ):
        open_register_body(packed, 479, True, length - 1)


def test_a_line_of_a_registration_cannot_be_as_long_as_the_whole() -> None:
    version = b"\0\0\0\x02{}"
    length = PART_BYTES_MAX + 1
    plain = version + b"\0\0\0\1" + length.to_bytes(4, "big") + b"a" * length
    _, topics = open_register_body(zlib.compress(plain), 479, True)
    with pytest.raises(BodyError, match=f"a part of {length} bytes"):
        next(topics)


@pytest.mark.parametrize("level", [1, 9])
@pytest.mark.parametrize(("more", "large"), [(-1, False), (1, True), (SMALL_BYTES, True)])
def test_a_stream_is_large_by_what_it_unpacks_to(level: int, more: int, large: bool) -> None:
    assert is_large(zlib.compress(b"\0" * (SMALL_BYTES + more), level)) is large


def test_what_is_short_cut_or_no_stream_is_not_large() -> None:
    for data in (b"", zlib.compress(b"x" * 5000), b"not zlib" * 1000):
        assert not is_large(data)
