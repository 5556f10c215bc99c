import hmac
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mqframe_grpc.proto import messages as m
from mqframe_grpc.rules.codes import Rejected
from mqframe_grpc.rules.signature import Signature, check_age, signature_of

TIME = "20260828T101112Z"
TIME_MS = 1787911872000
DIGEST = hmac.digest(b"secret", TIME.encode(), "sha1")


def metadata(
    key: str = "alice", signature: str = DIGEST.hex(), time: str = TIME, scheme: str = "MQv2-HMAC-SHA1"
) -> dict[str, str]:
    return {
        "authorization": f"{scheme} Credential={key}, SignedHeaders=x-mq-date-time, Signature={signature}",
        "x-mq-date-time": time,
    }


@pytest.mark.parametrize(
    "headers",
    [
        metadata(),
        metadata(signature=DIGEST.hex().upper()),
        metadata(key="alice/region/service"),
        metadata(scheme="Whatever"),
        {"authorization": f"x Signature={DIGEST.hex()},Credential=alice", "x-mq-date-time": TIME},
    ],
)
def test_what_clients_send_is_read(headers: dict[str, str]) -> None:
    assert signature_of(headers) == Signature("alice", TIME.encode(), DIGEST, TIME_MS)


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "  "}, metadata(key=""), metadata(key="/x", time="")]
)
def test_nobody_signed(headers: dict[str, str]) -> None:
    assert signature_of(headers) is None


@pytest.mark.parametrize(
    ("authorization", "why"),
    [
        ("MQv2-HMAC-SHA1", "list of different fields"),
        ("MQv2-HMAC-SHA1 nothing", "list of different fields"),
        ("s Credential=a, Signature=00, Signature=01", "list of different fields"),
        ("s Signature=00", "has no Credential"),
        ("s Credential=a", "has no Signature"),
        ("s Credential=a, Signature=", "empty signature"),
        ("s Credential=a, Signature=0", "not hexadecimal"),
        ("s Credential=a, Signature=xy", "not hexadecimal"),
        ("s Credential=ä, Signature=00", "other characters than ASCII"),
    ],
)
def test_what_cannot_be_read_is_refused(authorization: str, why: str) -> None:
    with pytest.raises(Rejected, match=why) as caught:
        signature_of({"authorization": authorization, "x-mq-date-time": TIME})
    assert caught.value.code is m.Code.UNAUTHORIZED


@pytest.mark.parametrize("time", ["", "2026\udc80"])
def test_the_time_is_signed_so_it_has_to_be_there(time: str) -> None:
    with pytest.raises(Rejected, match="x-mq-date-time, which is signed") as caught:
        signature_of(metadata(time=time))
    assert caught.value.code is m.Code.UNAUTHORIZED


@pytest.mark.parametrize(
    ("time", "ms"),
    [
        ("19700101T000000Z", 0),
        ("20240229T235959Z", 1709251199000),
        ("20230229T000000Z", None),
        ("20260828T101160Z", None),
        ("00000101T000000Z", None),
        ("20260828T101112", None),
        ("2026-08-28T10:11:12Z", None),
        ("whenever", None),
    ],
)
def test_the_time_is_read_as_utc(time: str, ms: int | None) -> None:
    found = signature_of(metadata(time=time))
    assert found is not None
    assert (found.signed_at_ms, found.content) == (ms, time.encode())


@pytest.mark.parametrize("away", [-900_000, 0, 900_000])
def test_young_signatures_are_taken(away: int) -> None:
    check_age(Signature("a", b"", b"", TIME_MS), TIME_MS + away, 900_000)


@pytest.mark.parametrize(("away", "shown"), [(-901_000, 901), (86_400_000, 86_400)])
def test_old_and_future_signatures_are_refused(away: int, shown: int) -> None:
    with pytest.raises(Rejected, match=f"{shown} s from now, 900 s are allowed") as caught:
        check_age(Signature("a", b"", b"", TIME_MS), TIME_MS + away, 900_000)
    assert caught.value.code is m.Code.UNAUTHORIZED


def test_a_signature_without_a_time_has_no_age() -> None:
    with pytest.raises(Rejected, match="is no time") as caught:
        check_age(Signature("a", b"", b"", None), TIME_MS, 900_000)
    assert caught.value.code is m.Code.UNAUTHORIZED


texts = st.one_of(st.text(), st.text("=, /ab0Z", max_size=12))
fields = st.sampled_from(
    ["Credential=a", "Credential=", "Signature=00", "Signature=q", "SignedHeaders=x", "=", ""]
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "authorization": st.one_of(
                texts, st.lists(st.one_of(fields, texts), max_size=5).map(lambda all: "s " + ",".join(all))
            ),
            "x-mq-date-time": st.one_of(texts, st.from_regex(r"\d{8}T\d{6}Z", fullmatch=True)),
        },
    )
)
def test_any_headers_are_read_or_refused(headers: Mapping[str, str]) -> None:
    try:
        found = signature_of(headers)
    except Rejected as problem:
        refused = problem
    else:
        assert found is None or (found.access_key and found.signature and found.content)
        return
    assert refused.code is m.Code.UNAUTHORIZED
