import pytest
from mqframe_metrics.broker.naming import flag, is_system, language, version


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (212, "v4_0_0_snapshot"),
        (411, "v4_9_9"),
        (479, "v5_3_3"),
        (611, "v5_9_9"),
        (3, "older"),
        (612, "higher_version"),
    ],
)
def test_versions_are_named_as_in_the_reference(number, text):
    assert version(number) == text


def test_a_language_that_nobody_knows_is_no_label_of_its_own():
    assert (language("PYTHON"), language("x" * 1000)) == ("python", "other")


def test_what_belongs_to_the_system():
    assert is_system("SCHEDULE_TOPIC_XXXX")
    assert is_system("orders", "CID_RMQ_SYS_x")
    assert is_system("orders", "cid_rmq_sys_x")
    assert not is_system("orders", "readers")
    assert (flag(True), flag(False)) == ("true", "false")
