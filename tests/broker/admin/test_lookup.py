from mqframe_testing.cluster_scene import ClusterScene

from mqframe.core.messages.ids import parse_offset_id
from mqframe.core.requests.messages import QueryMessage, ViewMessageById
from mqframe.core.storage.record import decode_records


def query(key, **fields):
    values = {"topic": "t", "max_num": 32, "begin_timestamp": 0, "end_timestamp": 2**63 - 1}
    return QueryMessage(key=key, **(values | fields))


async def test_messages_are_found_by_key_and_by_unique_key():
    async with ClusterScene(topics={"t": 2}) as world:
        for number in range(3):
            text = f"KEYS\x01order-1 n{number}\x02UNIQ_KEY\x01U{number}\x02"
            await world.client.ok_send("t", text, body=b"%d" % number)
        answer = await world.client.ok(query("order-1", unique_key="false"))
        assert sorted(m.stored_body for m in decode_records(answer.body)) == [b"0", b"1", b"2"]
        assert set(answer.ext) == {"indexLastUpdateTimestamp", "indexLastUpdatePhyoffset"}
        answer = await world.client.ok(query("order-1", max_num=2))
        assert len(list(decode_records(answer.body))) == 2
        answer = await world.client.ok(query("U1", unique_key="true", max_num=0))
        assert [m.stored_body for m in decode_records(answer.body)] == [b"1"]
        answer = await world.client.invoke(query("absent"))
        assert (answer.code, set(answer.ext)) == (
            22,
            {"indexLastUpdateTimestamp", "indexLastUpdatePhyoffset"},
        )


async def test_a_message_is_found_by_where_it_lies():
    async with ClusterScene(topics={"t": 2}) as world:
        sent = await world.client.ok_send("t", "UNIQ_KEY\x01A\x02")
        _, offset = parse_offset_id(sent.ext["msgId"])
        answer = await world.client.ok(ViewMessageById(offset=offset))
        assert [m.stored_body for m in decode_records(answer.body)] == [b"body"]
        for wrong in (offset + 1, 10**12, -1):
            assert (await world.client.invoke(ViewMessageById(offset=wrong))).code == 1
