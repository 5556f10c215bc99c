from types import SimpleNamespace

import pytest

from mqframe.core.codes import ResponseCode
from mqframe.core.requests.serving import Call
from mqframe.core.wire.frame import Frame
from mqframe.net.frame_path import AlikeRequests
from mqframe.net.latencies import Latencies, request_label


def call(code, *, received=10.0, flag=0, waited=False):
    made = Call(Frame(code, 1, flag, None, {}), SimpleNamespace(address="x"), received)
    made.waited = waited
    return made


def labels_and_counts(latencies):
    return {labels: (sum(value.counts), value.sum) for labels, value in latencies.family().series}


def test_answers_count_by_request_answer_and_way():
    latencies = Latencies({310, 11, 15})
    latencies.add(call(310), ResponseCode.SUCCESS, 10.5)
    latencies.add(call(310), ResponseCode.SUCCESS, 10.25)
    latencies.add(call(310), ResponseCode.SYSTEM_BUSY, 10.0)
    latencies.add(call(11, waited=True), ResponseCode.PULL_NOT_FOUND, 12.0)
    latencies.add(call(15, flag=2), ResponseCode.SUCCESS, 10.0)
    assert labels_and_counts(latencies) == {
        ("remoting", "send_message_v2", "success", "false", "success"): (2, 750.0),
        ("remoting", "send_message_v2", "system_busy", "false", "success"): (1, 0.0),
        ("remoting", "pull_message", "pull_not_found", "true", "success"): (1, 2000.0),
        ("remoting", "update_consumer_offset", "success", "false", "oneway"): (1, 0.0),
    }


def test_codes_that_nobody_serves_are_one_series_however_many_there_are():
    latencies = Latencies({310})
    for code in range(5000, 5100):
        latencies.add(call(code), 3, 10.0)
    assert list(labels_and_counts(latencies)) == [
        ("remoting", "unknown", "request_code_not_supported", "false", "success")
    ]


@pytest.mark.parametrize(
    ("code", "label"),
    [
        (310, "send_message_v2"),
        (34, "heart_beat"),
        (200, "update_and_create_subscriptiongroup"),
        (99_999, "99999"),
        (-1, "unknown"),
    ],
)
def test_requests_are_called_as_in_the_reference(code, label):
    assert request_label(code) == label


def test_requests_that_are_alike_count_as_each_of_them_would():
    one_by_one, at_once = Latencies({310}), Latencies({310})
    for _ in range(3):
        one_by_one.add(call(310), ResponseCode.SUCCESS, 10.25)
    one_by_one.add(call(310, flag=2), ResponseCode.SUCCESS, 10.25)
    at_once.add_alike(AlikeRequests(310, 0, 3), 0, 250.0)
    at_once.add_alike(AlikeRequests(310, 2, 1), 0, 250.0)
    assert labels_and_counts(at_once) == labels_and_counts(one_by_one)
    assert [value.counts for _, value in at_once.family().series] == [
        value.counts for _, value in one_by_one.family().series
    ]
