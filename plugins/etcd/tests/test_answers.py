from __future__ import annotations

import pytest
from mqframe_etcd.answers import EtcdRefusal, refusal, result

ETCD = "http://127.0.0.1:2379"


@pytest.mark.parametrize(
    ("code", "maybe"),
    [
        (3, False),
        (5, False),
        (7, False),
        (8, False),
        (9, False),
        (16, False),
        (2, True),
        (4, True),
        (14, True),
    ],
)
def test_a_code_tells_whether_it_may_have_been_done(code: int, maybe: bool) -> None:
    body = b'{"error":"etcdserver: words","message":"etcdserver: words","code":%d}' % code
    problem = refusal(ETCD, 503, body)
    assert (problem.code, problem.maybe_stored) == (code, maybe)
    assert str(problem) == f"etcd at {ETCD}: etcdserver: words"


@pytest.mark.parametrize(
    "body", [b"<html>gateway</html>", b"", b"[]", b'{"code":"x"}', b"null", b"\xff", b'{"code":null}']
)
def test_an_answer_that_is_not_etcd_s_says_nothing_of_what_was_done(body: bytes) -> None:
    problem = refusal(ETCD, 502, body)
    assert (problem.code, problem.maybe_stored) == (0, True)
    assert "answered 502" in str(problem)


def test_an_unknown_path_hints_at_the_gateway() -> None:
    assert "--enable-grpc-gateway" in str(refusal(ETCD, 404, b"Not Found"))
    assert "--enable-grpc-gateway" not in str(refusal(ETCD, 500, b"Not Found"))


@pytest.mark.parametrize(
    ("code", "words", "stale"),
    [
        (16, "etcdserver: invalid auth token", True),
        (3, "etcdserver: revision of auth store is old", True),
        (3, "etcdserver: authentication failed, invalid user ID or password", False),
        (7, "etcdserver: permission denied", False),
    ],
)
def test_a_token_is_stale_when_etcd_says_so(code: int, words: str, stale: bool) -> None:
    assert EtcdRefusal(ETCD, code, words).stale == stale


def test_a_line_of_a_stream_is_a_result_or_an_error() -> None:
    assert result(ETCD, '{"result":{"created":true}}') == {"created": True}
    for line in (
        '{"error":{"grpc_code":14,"http_code":503,"message":"no leader"}}',
        b'{"error":{"code":14,"message":"no leader","details":[]}}',
    ):
        with pytest.raises(EtcdRefusal, match="no leader") as raised:
            result(ETCD, line)
        assert raised.value.code == 14


@pytest.mark.parametrize("line", ["", "{", "[]", "7", "{}", '{"error":"x"}', '{"result":7}', b"\xff"])
def test_a_line_that_cannot_be_read_is_told_with_its_start(line: str | bytes) -> None:
    with pytest.raises(EtcdRefusal, match="sent what cannot be read"):
        result(ETCD, line)
