"""What a refused request means to its caller."""

from mqframe_admin.requests import GetTopicStatsInfo

from mqframe.core.errors import AccessError, AnswerFix, AnswerRetry
from mqframe.core.requests.admin import GetTopicConfig
from mqframe.core.requests.refusals import is_unserved, refusal
from mqframe.core.requests.roles import DemoteBroker
from mqframe.core.versions import version_number
from mqframe.core.wire.frame import Frame

NOT_SERVED = "GetTopicConfig (351) is served from Apache RocketMQ 5.0.0 on, and this is 4.9.7"


def test_a_request_that_a_broker_is_too_old_for_names_the_version_that_serves_it():
    found = refusal(GetTopicConfig("t"), Frame(3, remark="not supported", version=407), "a:1")
    assert isinstance(found, AnswerFix)
    assert str(found) == f"a:1 answered 3 REQUEST_CODE_NOT_SUPPORTED: {NOT_SERVED}"
    assert is_unserved(found)


def test_a_broker_that_is_new_enough_and_refuses_is_not_called_too_old():
    found = refusal(
        GetTopicConfig("t"), Frame(3, remark="switched off", version=version_number("5.3.3")), "a:1"
    )
    assert str(found).endswith(
        "GetTopicConfig (351) is not offered there, though 5.3.3 can serve it: "
        "the service is missing, blocked or switched off (switched off)"
    )
    assert is_unserved(found)


def test_a_request_of_this_project_is_told_as_such():
    found = refusal(DemoteBroker(1), Frame(3, remark="not supported", version=407), "a:1")
    assert str(found).endswith("DemoteBroker (21341) is served by mqframe alone: not supported")
    assert is_unserved(found)


def test_any_other_refusal_says_what_the_peer_said():
    unknown = refusal(GetTopicStatsInfo("t"), Frame(3, remark="not supported", version=407), "a:1")
    assert str(unknown).endswith("REQUEST_CODE_NOT_SUPPORTED: not supported")
    busy = refusal(GetTopicConfig("t"), Frame(2, remark="busy"), "a:1")
    assert (type(busy), is_unserved(busy)) == (AnswerRetry, False)
    said = "org.apache.rocketmq.acl.common.AclException: No accessKey is configured, org.apache.rocketmq.acl"
    assert type(refusal(GetTopicConfig("t"), Frame(1, remark=said), "a:1")) is AccessError
