import pytest

from mqframe.core.sending.message_type import message_type


@pytest.mark.parametrize(
    ("properties", "kind"),
    [
        ({}, "normal"),
        ({"TAGS": "a"}, "normal"),
        ({"__SHARDINGKEY": "k"}, "fifo"),
        ({"DELAY": "3"}, "delay"),
        ({"TIMER_DELAY_MS": "3"}, "delay"),
        ({"TIMER_DELIVER_MS": "3", "__SHARDINGKEY": "k"}, "fifo"),
    ],
)
def test_properties_tell_the_type(properties, kind):
    assert message_type(properties) == kind


def test_a_half_is_transactional_whatever_else_it_is():
    assert message_type({"DELAY": "3"}, is_half=True) == "transaction"
