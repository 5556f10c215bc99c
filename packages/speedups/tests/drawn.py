"""Sends by chance, of one message and of batches."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from twins import send

from mqframe.core.codes import SysFlag
from mqframe.core.messages.batch import encode_element
from mqframe.core.wire.frame import HeaderForm

SLOWLY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=150)
names = st.sampled_from(["TAGS", "KEYS", "UNIQ_KEY", "XKEYS", "a", "__SHARDINGKEY", "WAIT", "ü", "DELAYED"])
texts = st.text(st.sampled_from('abcXYZ 0123456789_-äß€\U0001f600"\\/'), max_size=40)
keys = st.text(st.sampled_from("0123456789ABCDEF"), min_size=1, max_size=40)


@st.composite
def properties(draw: st.DrawFn, odd: bool = False) -> str:
    """Properties with a unique key; ordinary ones unless `odd`."""
    name = names if odd else names.filter(lambda text: text not in ("UNIQ_KEY", "XKEYS", "DELAYED"))
    value = texts if odd else texts.filter(bool)
    pairs = draw(st.lists(st.tuples(name, value), max_size=6))
    pairs.insert(draw(st.integers(0, len(pairs))), ("UNIQ_KEY", draw(keys)))
    text = "".join(f"{name}\x01{value}\x02" for name, value in pairs)
    return text if draw(st.booleans()) else text[:-1]


@st.composite
def sends(draw: st.DrawFn, odd: bool = False) -> dict[str, Any]:
    """Sends as clients make them: what `Reference.send` takes."""
    ints = st.integers(-(2**31), 2**31 - 1)
    changes: dict[str, Any] = {
        "topic": draw(st.sampled_from(["t", "tö"])),
        "queueId": str(draw(st.integers(0, 3))),
        "sysFlag": str(draw(ints) & ~SysFlag.TRANSACTION_MASK),
        "bornTimestamp": str(draw(st.integers(-(10**18) + 1, 10**18 - 1))),
        "flag": str(draw(ints)),
        "reconsumeTimes": draw(st.none() | ints.map(str)),
        "unitMode": draw(st.sampled_from([None, "false"])),
        "batch": draw(st.sampled_from([None, "false"])),
        "properties": draw(properties(odd)),
        "brokerName": draw(st.sampled_from([None, "broker-ä"])),
    }
    head = {
        "code": draw(st.sampled_from([10, 310])),
        "body": draw(st.binary(min_size=1, max_size=300)),
        "form": draw(st.sampled_from([HeaderForm.JSON, HeaderForm.ROCKETMQ])),
        "opaque": draw(ints),
        "one_way": not draw(st.integers(0, 2)),
    }
    return head | changes


@st.composite
def batches(draw: st.DrawFn, odd: bool = False) -> dict[str, Any]:
    """Batches as clients make them: what `Reference.send` takes."""
    own = (
        st.just("") | properties(odd) | st.sampled_from(["TAGS\x01a\x02", "KEYS\x01k l\x02a\x01b", "a\x01ü"])
    )
    shared = st.none() | st.sampled_from(["", "WAIT\x01true\x02", "TAGS\x01x", "KEYS\x01k"]) | properties(odd)
    elements = draw(
        st.lists(st.tuples(st.binary(max_size=60), own, st.integers(-5, 5)), min_size=1, max_size=9)
    )
    changes = {
        "code": draw(st.sampled_from([10, 310, 320, 320])),
        "batch": "true",
        "properties": draw(shared),
        "body": b"".join(encode_element(body, text.encode(), flag) for body, text, flag in elements),
    }
    return draw(sends()) | changes


waiting_names = st.sampled_from(
    """TAGS KEYS WAIT a b ü PGROUP INSTANCE_ID HALF_BATCH REAL_QID REAL_TOPIC TRACE_ON CLUSTER DELAY
    TRANSACTION_CHECK_TIMES TRAN_PREPARED_QUEUE_OFFSET CHECK_IMMUNITY_TIME_IN_SECONDS __transactionId__
    TIMER_DELAY_SEC""".split()
)
kinds = st.sampled_from(
    [("TRAN_MSG", "true")] * 4
    + [("DELAY", "3")] * 4
    + [
        ("TRAN_MSG", "false"),
        ("TRAN_MSG", "True"),
        ("DELAY", "1"),
        ("DELAY", "0"),
        ("DELAY", "x"),
        ("DELAY", "40"),
    ]
)


@st.composite
def waiting(draw: st.DrawFn, number: int) -> bytes:
    """Sends that are to wait, some of them odd."""
    pairs = draw(st.lists(st.tuples(waiting_names, texts), max_size=5))
    for pair in (("UNIQ_KEY", draw(keys)), draw(kinds)):
        pairs.insert(draw(st.integers(0, len(pairs))), pair)
    text = "".join(f"{name}\x01{value}\x02" for name, value in pairs)
    return send(
        number,
        draw(st.sampled_from(["t", "t", "other"])),
        draw(st.binary(min_size=1, max_size=60)),
        e=draw(st.sampled_from("01")),
        f=draw(st.sampled_from(["0", "4", "8", "12", "1", "48", "5"])),
        j=draw(st.sampled_from(["0", "2"])),
        properties=text if draw(st.booleans()) else text[:-1],
        form=draw(st.sampled_from(list(HeaderForm))),
    )
