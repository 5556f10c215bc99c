import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.names import group_name, topic_name


def named(name: str) -> m.Resource:
    return m.Resource(resource_namespace="elsewhere", name=name)


@pytest.mark.parametrize("name", ["t", "%RETRY%g_t", "%DLQ%g", "a|b-c_d%", "x" * 127])
def test_legal_topics_pass(name: str):
    assert topic_name(named(name)) == name


@pytest.mark.parametrize("name", ["g", "%g|", "x" * 120])
def test_legal_groups_pass(name: str):
    assert group_name(named(name)) == name


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("", "empty"),
        (" ", "may hold only"),
        ("a/b", "may hold only"),
        ("a\n", "may hold only"),
        ("ä", "may hold only"),
        ("x" * 128, "128 characters, 127 are allowed"),
    ],
)
def test_names_that_are_none_are_refused(name: str, what: str):
    for read, code in ((topic_name, m.Code.ILLEGAL_TOPIC), (group_name, m.Code.ILLEGAL_CONSUMER_GROUP)):
        with pytest.raises(Rejected, match=what.replace("127", "1[0-9]+")) as caught:
            read(named(name))
        assert caught.value.code == code


@pytest.mark.parametrize(
    "name",
    [
        "TBW102", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRACE_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT",
        "CHECKPOINT_TOPIC", "rmq_sys_wheel_timer", "rmq_sys_TRACE_DATA_x",
    ],
)  # fmt: skip
def test_topics_of_the_system_are_closed(name: str):
    with pytest.raises(Rejected, match=f"topic {name} is the system's own") as caught:
        topic_name(named(name))
    assert caught.value.code == m.Code.ILLEGAL_TOPIC


@pytest.mark.parametrize("name", ["CID_RMQ_SYS_TRANS", "TOOLS_CONSUMER"])
def test_groups_of_the_system_are_closed(name: str):
    with pytest.raises(Rejected, match=f"group {name} is the system's own") as caught:
        group_name(named(name))
    assert caught.value.code == m.Code.ILLEGAL_CONSUMER_GROUP


def test_a_resource_without_name_is_refused():
    with pytest.raises(Rejected):
        topic_name(m.QueryRouteRequest().topic)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_whatever_comes_is_the_name_or_refused(name: str):
    for read in (topic_name, group_name):
        try:
            found = read(named(name))
        except Rejected as problem:
            found, said = name, problem.text
        else:
            said = ""
        assert found == name
        assert len(said) < 400
