import pytest
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import TEXT_CHARACTERS_MAX, Rejected, overall, rejected, status

from mqframe.core.codes import ResponseCode
from mqframe.core.errors import FixError
from mqframe.store.appending.batch_layout import too_large

Code = m.Code


def test_a_rejection_has_its_code_and_text():
    problem = Rejected(Code.ILLEGAL_TOPIC, "topic name is empty")
    assert (problem.code, problem.text, str(problem)) == (
        Code.ILLEGAL_TOPIC,
        "topic name is empty",
        problem.text,
    )
    assert isinstance(problem, FixError)


def test_a_status_says_its_name_unless_there_is_a_text():
    assert (status(Code.OK).code, status(Code.OK).message) == (20000, "OK")
    assert status(Code.FORBIDDEN).message == "FORBIDDEN"
    assert status(Code.FORBIDDEN, "no writable queue").message == "no writable queue"


def test_a_text_is_cut_off_and_made_fit_to_send():
    long = status(Code.BAD_REQUEST, "x" * 100_000).message
    assert long.startswith("x" * TEXT_CHARACTERS_MAX + "… (100000")
    assert (
        m.Status.FromString(status(Code.BAD_REQUEST, "grün \ud800").SerializeToString()).message == "grün ?"
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ResponseCode.SUCCESS, Code.OK),
        (ResponseCode.SYSTEM_BUSY, Code.TOO_MANY_REQUESTS),
        (ResponseCode.POLLING_FULL, Code.TOO_MANY_REQUESTS),
        (ResponseCode.FLOW_CONTROL, Code.TOO_MANY_REQUESTS),
        (ResponseCode.SERVICE_NOT_AVAILABLE, Code.TOO_MANY_REQUESTS),
        (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, Code.NOT_IMPLEMENTED),
        (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, Code.CONSUMER_GROUP_NOT_FOUND),
        (ResponseCode.TOPIC_NOT_EXIST, Code.TOPIC_NOT_FOUND),
        (ResponseCode.FLUSH_DISK_TIMEOUT, Code.MASTER_PERSISTENCE_TIMEOUT),
        (ResponseCode.FLUSH_SLAVE_TIMEOUT, Code.SLAVE_PERSISTENCE_TIMEOUT),
        (ResponseCode.SLAVE_NOT_AVAILABLE, Code.HA_NOT_AVAILABLE),
        (ResponseCode.MESSAGE_ILLEGAL, Code.BAD_REQUEST),
        (ResponseCode.INVALID_PARAMETER, Code.BAD_REQUEST),
        (ResponseCode.NO_PERMISSION, Code.FORBIDDEN),
        (ResponseCode.SUBSCRIPTION_PARSE_FAILED, Code.ILLEGAL_FILTER_EXPRESSION),
        (ResponseCode.NO_MESSAGE, Code.INVALID_RECEIPT_HANDLE),
        (ResponseCode.PULL_NOT_FOUND, Code.MESSAGE_NOT_FOUND),
        (ResponseCode.POLLING_TIMEOUT, Code.MESSAGE_NOT_FOUND),
        (ResponseCode.SYSTEM_ERROR, Code.INTERNAL_SERVER_ERROR),
        (ResponseCode.ILLEGAL_OPERATION, Code.INTERNAL_SERVER_ERROR),
        (4711, Code.INTERNAL_SERVER_ERROR),
        (-1, Code.INTERNAL_SERVER_ERROR),
    ],
)
def test_codes_of_brokers_are_those_of_the_protocol(code: int, expected: m.Code):
    problem = rejected(code, "what the broker said")
    assert (problem.code, problem.text) == (expected, "what the broker said")


def test_an_answer_without_remark_names_its_code():
    assert rejected(ResponseCode.SYSTEM_BUSY, None).text == "the broker answered 2 SYSTEM_BUSY"
    assert rejected(4711, "").text == "the broker answered 4711"


@pytest.mark.parametrize(
    ("code", "remark"),
    [
        (ResponseCode.NO_PERMISSION, "User:bob has no permission to access Topic:orders from 10.0.0.1"),
        (ResponseCode.NO_PERMISSION, "check signature failed"),
        (
            ResponseCode.SYSTEM_ERROR,
            "org.apache.rocketmq.acl.common.AclException: No accessKey is configured",
        ),
    ],
)
def test_refused_access_is_told_from_other_permissions(code: int, remark: str):
    assert rejected(code, remark).code == Code.UNAUTHORIZED


def test_what_is_too_large_for_a_broker_is_named():
    illegal = ResponseCode.MESSAGE_ILLEGAL
    assert rejected(illegal, str(too_large(11, 10, 0))).code == Code.MESSAGE_BODY_TOO_LARGE
    assert rejected(illegal, str(too_large(1, 10, 40_000))).code == Code.MESSAGE_PROPERTIES_TOO_LARGE


def test_one_code_of_all_results_is_that_of_the_call():
    assert overall([Code.OK, Code.OK]) == status(Code.OK)
    assert overall([Code.INVALID_RECEIPT_HANDLE]) == status(Code.INVALID_RECEIPT_HANDLE)
    assert overall([Code.OK, Code.FORBIDDEN, Code.OK]) == status(Code.MULTIPLE_RESULTS)
    assert overall([]).code == Code.INTERNAL_SERVER_ERROR
