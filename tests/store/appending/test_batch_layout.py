import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqframe.core.errors import BodyError, MessageError
from mqframe.core.messages.batch import encode_element
from mqframe.core.storage.dispatch_facts import index_keys, queue_code
from mqframe.core.storage.record import body_crc, decode_records
from mqframe.store.appending.batch_layout import BatchLayout, BatchLimits
from mqframe.store.incoming import Incoming
from mqframe.store.queues.consume_queue import ENTRY

HOST = b"\x7f\0\0\1\0\0\x2a\x9f"
HOST_V6 = bytes(15) + b"\1" + b"\0\0\x2a\x9f"

# Pieces that a careless reader would take for something else, next to ordinary ones.
PIECES = st.sampled_from(
    [
        "UNIQ_KEY\x01AAAA\x02",
        "UNIQ_KEY\x01BBBB\x02",
        "UNIQ_KEY\x01\x02",
        "UNIQ_KEY\x01ÄÄ\x02",
        "UNIQ_KEY\x01A\x02B\x02",
        "XUNIQ_KEY\x01CCCC\x02",
        "KEYS\x01one two\x02",
        "KEYS\x01three\x02",
        "TAGS\x01red\x02",
        "TAGS\x01blu\x02",
        "WAIT\x01true\x02",
        "note\x01UNIQ_KEY\x02",
    ]
)
PROPERTIES = st.builds("".join, st.lists(PIECES, max_size=4))
EXTRA = st.sampled_from(
    ["", "WAIT\x01true\x02", "UNIQ_KEY\x01SHARED\x02WAIT\x01true\x02", "UNIQ_KEY\x01\x02", "TAGS\x01all\x02"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(PROPERTIES, st.binary(max_size=30)), min_size=1, max_size=8), EXTRA, st.booleans())
def test_every_message_is_laid_out_as_if_it_were_alone(rows, extra, v6):
    host = HOST_V6 if v6 else HOST
    head = Incoming("t", 3, b"", "", 77, host, HOST, 0, 0)
    raw = b"".join(encode_element(body, properties.encode(), 9) for properties, body in rows)
    laid = BatchLayout(head, extra.encode(), 88, (1000,), BatchLimits(1 << 20)).lay(raw, 500, 40)
    read = list(decode_records(laid.records))
    texts = [properties + extra for properties, _ in rows]
    assert [(m.body, m.raw_properties) for m in read] == [
        (body, text) for (_, body), text in zip(rows, texts, strict=True)
    ]
    for number, message in enumerate(read):
        assert body_crc(message.stored_body) == message.body_crc
        assert (message.topic, message.queue_id, message.flag) == ("t", 3, 9)
        assert (message.queue_offset, message.commit_log_offset) == (40 + number, laid.offsets[number])
        assert (message.born_timestamp, message.store_timestamp) == (77, 88)
        assert message.born_host == ("[::1]:10911" if v6 else "127.0.0.1:10911")
    assert laid.end == 500 + len(laid.records)
    codes = [queue_code("t", text, 88, (1000,)) for text in texts]
    assert laid.codes == codes
    sizes = [message.store_size for message in read]
    assert list(ENTRY.iter_unpack(laid.entries)) == list(zip(laid.offsets, sizes, codes, strict=True))
    assert laid.indexed == list(zip(laid.offsets, map(index_keys, texts), strict=True))


def lay(raw, limits):
    return BatchLayout(Incoming("t", 3, b"", "", 77, HOST, HOST, 0, 0), b"", 88, (), limits).lay(raw, 0, 0)


def test_a_batch_has_so_many_messages_and_no_more():
    element = encode_element(b"", b"", 0)
    limits = BatchLimits(100, messages=5)
    assert len(lay(element * 5, limits).offsets) == 5
    with pytest.raises(MessageError, match=r"more than 5 messages \(store.batch_messages_max\)"):
        lay(element * 6, limits)
    with pytest.raises(BodyError):
        lay(bytes(200), limits)


def test_messages_of_a_batch_have_so_many_keys_and_no_more():
    def element(keys, unique="A"):
        text = f"UNIQ_KEY\x01{unique}\x02KEYS\x01" + " ".join(f"k{n}" for n in range(keys)) + "\x02"
        return encode_element(b"x", text.encode(), 0)

    limits = BatchLimits(100, messages=20, keys=10)
    assert len(lay(element(10) + element(10, "B"), limits).indexed[1][1]) == 11
    with pytest.raises(MessageError, match=r"the message has 11 keys, at most 10 .*store.message_keys_max"):
        lay(element(11), limits)
    with pytest.raises(MessageError, match="have 30 keys, at most 20 are indexed at once"):
        lay(b"".join(element(10, unique) for unique in "ABC"), limits)
