import pytest

from mqframe.core.sending.message_type import is_half, message_type


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({}, "normal"),
        ({"TAGS": "a"}, "normal"),
        ({"__SHARDINGKEY": "k"}, "fifo"),
        ({"DELAY": "3"}, "delay"),
        ({"TIMER_DELAY_MS": "3"}, "delay"),
        ({"TIMER_DELIVER_MS": "3", "__SHARDINGKEY": "k"}, "fifo"),
        ({"_SYS_MSG_PRIORITY_": "3"}, "priority"),
        ({"_SYS_MSG_PRIORITY_": "3", "__SHARDINGKEY": "k"}, "fifo"),
        ({"_SYS_MSG_PRIORITY_": "3", "DELAY": "3"}, "delay"),
    ],
)
def test_properties_tell_the_type(properties, kind):
    assert message_type(properties) == kind


def test_a_half_is_transactional_whatever_else_it_is():
    assert message_type({"DELAY": "3"}, is_half=True) == "transaction"


@pytest.mark.parametrize(
    ("properties", "reconsume_times", "wanted"),
    [
        ({"TRAN_MSG": "true"}, 0, True),
        ({"TRAN_MSG": "TRUE"}, 0, True),
        ({"TRAN_MSG": "false"}, 0, False),
        ({}, 0, False),
        ({"TRAN_MSG": "true", "DELAY": "3"}, 0, True),
        ({"TRAN_MSG": "true"}, 2, True),
        ({"TRAN_MSG": "true", "DELAY": "3"}, 2, False),
        ({"TRAN_MSG": "true", "DELAY": "0"}, 2, True),
        ({"TRAN_MSG": "true", "DELAY": "x"}, 2, True),
    ],
)
def test_which_messages_wait_for_a_transaction(properties, reconsume_times, wanted):
    assert is_half(properties, reconsume_times) is wanted
