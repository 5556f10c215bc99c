from __future__ import annotations

import subprocess
import sys

from mqframe_grpc.proto import messages as m


def test_messages_are_read_and_written() -> None:
    one = m.Message(topic=m.Resource(name="orders"), body=b"\x00\xff", user_properties={"ü": "1"})
    one.system_properties.message_type = m.MessageType.FIFO
    again = m.Message.FromString(one.SerializeToString())
    assert again == one
    assert (again.system_properties.message_type, m.MessageType.FIFO.name) == (m.MessageType.FIFO, "FIFO")
    assert again.system_properties.HasField("tag") is False


def test_all_methods_of_the_protocol_are_known() -> None:
    prefix = "/apache.rocketmq.v2.MessagingService/"
    assert all(path.startswith(prefix) for path in m.METHODS)
    assert m.METHODS[f"{prefix}SendMessage"] == (m.SendMessageRequest, m.SendMessageResponse)
    assert len(m.METHODS) == 17


def test_an_official_client_in_the_same_process_brings_its_own_messages() -> None:
    program = (
        "from mqframe_grpc.proto import messages as m\n"
        "from rocketmq.grpc_protocol import definition_pb2 as theirs\n"
        "ours = m.Resource(name='orders').SerializeToString()\n"
        "assert theirs.Resource.FromString(ours).name == 'orders'\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
