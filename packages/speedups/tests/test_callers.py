"""Brokers with access control: compiled code takes what is signed rightly and granted, and nothing else."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mqframe_admin.access.requests import AuthCreateAcl, AuthCreateUser, AuthDeleteUser, AuthUpdateUser
from mqframe_speedups.callers import CONNECTIONS_MAX, KINDS_MAX, Judges, KnownCallers, judges_of
from mqframe_testing.conformance import PlainPeer
from signed import by_admin, frame_of, heard, heard_by_both, signed
from test_pulls import frames
from test_sends import with_header
from twins import ANY_PROPERTIES, batch, heartbeat, pull, send

from mqframe.core.codes import FLAG_ONEWAY
from mqframe.core.requests.needs import Action, topic_need
from mqframe.core.storage.record import decode_records
from mqframe.core.wire.frame import HeaderForm, encode_frame
from mqframe.hooks.interfaces import Authentication, Refused
from mqframe.hooks.manager import PluginManager
from mqframe.net.access.settings import AccessSettings

BINARY = HeaderForm.ROCKETMQ


def user(name: str, secret: str = "secret") -> bytes:
    return by_admin(AuthCreateUser(name), {"username": name, "password": secret})


def allow(name: str, *resources: str, decision: str = "Allow", sources: tuple[str, ...] = ()) -> bytes:
    entry = {"actions": ["Pub", "Sub"], "decision": decision, "sourceIps": list(sources)}
    entries = [{"resource": each, **entry} for each in resources]
    body = {"subject": f"User:{name}", "policies": [{"policyType": "Custom", "entries": entries}]}
    return by_admin(AuthCreateAcl(f"User:{name}"), body)


USERS = [user("shop"), allow("shop", "Topic:t", "Group:consumers"), user("other", "its own"),
         allow("other", "Topic:other")]  # fmt: skip
FIRST = [signed(send(n, topic), "admin") for n, topic in enumerate(("t", "t", "other", "third"))]
BEGIN = [*USERS, *FIRST]
"""Users, and the first messages of topics, which go the longer way."""


@pytest.mark.parametrize("form", list(HeaderForm))
async def test_what_is_signed_rightly_and_granted(
    form: HeaderForm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = [
        send(10, form=form), send(11, form=form, flag=FLAG_ONEWAY), batch(12, 5, form=form),
        send(13, form=form, properties={**ANY_PROPERTIES, "TAGS": 'schlüssel 鍵 🔑 "q" \\'}),
    ]  # fmt: skip
    reads = [signed(mine[0]), b"".join(map(signed, mine[1:])), signed(send(14, "other"), "other", "its own")]
    (_, talk), refused = await heard_by_both(tmp_path, monkeypatch, [BEGIN, reads])
    assert talk.native == 1 + 1 + 5 + 1 + 1
    assert [frame.code for frame in frames(talk.answers).values()] == [0] * 4
    assert set(refused.values()) == {"0"}


async def test_all_forms_of_sends_are_granted_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = {"a": "producerGroup", "b": "topic", "c": "defaultTopic", "d": "defaultTopicQueueNums",
            "e": "queueId", "f": "sysFlag", "g": "bornTimestamp", "h": "flag", "i": "properties"}  # fmt: skip
    frame = frame_of(send(20))
    ext = frame.ext or {}
    frame.ext = {named: ext[letter] for letter, named in long.items()}
    frame.code = 10
    raw = signed(encode_frame(frame))
    (_, talk), _ = await heard_by_both(tmp_path, monkeypatch, [BEGIN, [raw, signed(send(21)), raw]])
    assert talk.native == 3


async def test_who_is_first_seen_within_a_read_waits_as_he_wants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried = send(20, properties={**ANY_PROPERTIES, "WAIT": "false"})
    seen = signed(hurried) + signed(send(21, "other"), "other", "its own")
    turned = signed(send(21, "other"), "other", "its own") + signed(hurried)
    talks = [BEGIN, [seen, seen + signed(hurried)], [turned], [signed(hurried) + signed(hurried)]]
    found, _ = await heard_by_both(tmp_path, monkeypatch, talks, store={"flush": "SYNC_FLUSH"})
    assert [talk.native for talk in found[1:]] == [1 + 1 + 1, 1, 2]
    assert [list(frames(talk.answers)) for talk in found[1:]] == [[20, 21], [20, 21], [20]]


GOOD = signed(send(30))


def signature(raw: bytes = GOOD) -> str:
    return (frame_of(raw).ext or {})["Signature"]


def with_signature(new: str, raw: bytes = GOOD) -> bytes:
    return with_header(raw, f'"Signature":"{signature(raw)}"'.encode(), f'"Signature":"{new}"'.encode())


def again(field: str, first: bool, raw: bytes = GOOD) -> bytes:
    """`raw` with one more field, before all others or behind them."""
    if first:
        return with_header(raw, b'"extFields":{', f'"extFields":{{{field},'.encode())
    return with_header(raw, b'"AccessKey":"shop"', f'"AccessKey":"shop",{field}'.encode())


def last_bits(text: str) -> str:
    """Another base64 of the same bytes, which decoders take for the same."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = text[:-2] + letters[letters.index(text[-2]) | 1] + "="
    assert base64.b64decode(other) == base64.b64decode(text)
    assert other != text
    return other


ODD: dict[str, tuple[bytes, int]] = {
    "not signed": (send(30), 16),
    "signed with another secret": (signed(send(30), "shop", "other"), 16),
    "signed by nobody": (signed(send(30), "nobody"), 16),
    "signed by whom nobody is": (signed(send(30), "nobody", "nobody"), 16),
    "another one's topic": (signed(send(30), "other", "its own"), 16),
    "a topic that is not granted": (signed(send(30, "third")), 16),
    "a topic that there is not": (signed(send(30, "unknown")), 16),
    "one's name, another one's signature": (
        with_header(signed(send(30), "other", "its own"), b'"AccessKey":"other"', b'"AccessKey":"shop"'), 16
    ),
    "an empty signature": (with_signature(""), 16),
    "the signature of another body": (with_signature(signature(signed(send(30, body=b"other")))), 16),
    "a signature in small letters": (with_signature(signature().lower()), 16),
    "a signature cut off": (with_signature(signature()[:-1]), 16),
    "a longer signature": (with_signature(signature() + "="), 16),
    "a signature with other last bits": (with_signature(last_bits(signature())), 16),
    "a signature with a blank": (with_signature(" " + signature()), 16),
    "an empty name": (with_header(GOOD, b'"AccessKey":"shop"', b'"AccessKey":""'), 16),
    "a name alone": (with_header(GOOD, f',"Signature":"{signature()}"'.encode(), b""), 16),
    "a signature alone": (with_header(GOOD, b'"AccessKey":"shop",', b""), 16),
    "a wrong signature, then the right one": (again('"Signature":"x"', first=True), 0),
    "the right signature, then a wrong one": (
        with_header(GOOD, f'"Signature":"{signature()}"'.encode(),
                    f'"Signature":"{signature()}","Signature":"x"'.encode()), 16
    ),
    "the same signature twice": (again(f'"Signature":"{signature()}"', first=True), 0),
    "another name first": (again('"AccessKey":"other"', first=True), 0),
    "another name last": (again('"AccessKey":"other"', first=False), 16),
    "another topic first": (again('"b":"third"', first=True), 0),
    "another topic last": (again('"b":"third"', first=False), 16),
    "a name with an escape": (with_header(GOOD, b'"AccessKey":"shop"', b'"AccessKey":"sh\\u006fp"'), 0),
    "a signature with an escape": (
        with_signature(f"\\u{ord(signature()[0]):04x}{signature()[1:]}"), 0
    ),
    "the name of the signature with an escape": (with_header(GOOD, b'"Signature"', b'"S\\u0069gnature"'), 0),
    "a field that old clients do not sign": (signed(send(30), _UNIQUE_KEY_QUERY="x"), 0),
    "such a field, not signed": (again('"_UNIQUE_KEY_QUERY":"x"', first=False), 16),
    "a field more, not signed": (again('"zz":"x"', first=False), 16),
    "an empty field more, which changes nothing": (again('"zz":""', first=False), 0),
    "a field in another order": (with_header(again('"zz":"shop"', first=False), b'"AccessKey":"shop"',
                                             b'"AccessKey":""'), 16),
    "a null": (again('"zz":null', first=False), 0),
    "a token": (signed(send(30), SecurityToken="token"), 0),
    "fields of other scripts": (signed(send(30), **{"é": "鍵", "🔑": "ü", "zz": ""}), 0),
    "a pair of surrogates": (with_header(signed(send(30), zz="🔑"), "🔑".encode(), b"\\ud83d\\udd11"), 0),
}  # fmt: skip
TAKEN = {
    "an empty field more, which changes nothing", "a token", "fields of other scripts",
}  # fmt: skip


async def test_whatever_is_not_signed_in_the_ordinary_way_is_judged_by_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talks = [[signed(send(1)), raw, signed(send(2))] for raw, _ in ODD.values()]
    found, refused = await heard_by_both(tmp_path, monkeypatch, [BEGIN, *talks])
    for (what, (_, code)), talk in zip(ODD.items(), found[1:], strict=True):
        codes = [frame.code for frame in frames(talk.answers).values()]
        assert codes == [0, code, 0], what
        assert (talk.native == 3) is (what in TAKEN), what
        assert talk.native >= 1, what
    assert refused["authorizationFailures"] == "3"
    assert int(refused["authenticationFailures"]) == sum(code == 16 for _, code in ODD.values()) - 3


async def test_who_signed_wrongly_once_is_served_by_python(tmp_path: Path) -> None:
    wrong, right = signed(send(1), "shop", "wrong"), signed(send(2))
    unknown = signed(send(1), "nobody")
    talks = [[right, right], [right, wrong, right, right], [unknown, right, right], [right]]
    found, _, refused = await heard(tmp_path, [BEGIN, *talks])
    assert [talk.native for talk in found[1:]] == [2, 1, 0, 1]
    assert refused["authenticationFailures"] == "2"


CHANGES: dict[str, tuple[list[bytes], int]] = {
    "the policy says no": ([allow("shop", "Topic:t", decision="Deny")], 16),
    "the policy is another one's": ([allow("shop", "Topic:other")], 0),
    "the policy is for elsewhere": ([allow("shop", "Topic:t", sources=("192.168.0.0/16",))], 16),
    "the user is deleted": ([by_admin(AuthDeleteUser("shop"))], 16),
    "the user is disabled": ([by_admin(AuthUpdateUser("shop"), {"userStatus": "disable"})], 16),
    "the secret is another": ([by_admin(AuthUpdateUser("shop"), {"password": "fresh"})], 16),
    "the user is another with the same name": ([by_admin(AuthDeleteUser("shop")), user("shop", "fresh")], 16),
    "the user is the same again": (
        [by_admin(AuthDeleteUser("shop")), user("shop"), allow("shop", "Topic:t")],
        0,
    ),
    "something else changed": ([user("third")], 0),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("together", [False, True])
async def test_a_change_between_two_sends_counts(
    what: str, together: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, code = CHANGES[what]
    reads = [signed(send(1)), signed(send(2)), *changes, signed(send(3)), signed(batch(4, 2))]
    if together:
        reads = [b"".join(reads[:-1]), reads[-1]]
    (_, talk), _ = await heard_by_both(tmp_path, monkeypatch, [BEGIN, reads])
    codes = [frame.code for number, frame in frames(talk.answers).items() if number < 5]
    assert codes == [0, 0, code, code]
    assert talk.native >= 2
    if code:
        assert talk.native == 2
    elif not together:
        assert talk.native == 5


async def test_policies_by_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address, code in (("10.1.2.3", 0), ("11.1.2.3", 16)):
        talks = [[*BEGIN, allow("shop", "Topic:t", sources=("10.0.0.0/8",))], [signed(send(1))] * 2]
        place = tmp_path / address
        (_, talk), _ = await heard_by_both(place, monkeypatch, talks, address=(address, 4000))
        assert [frame.code for frame in frames(talk.answers).values()] == [code]
        assert talk.native == (0 if code else 2)


ACCOUNTS = """
globalWhiteRemoteAddresses: [10.1.1.*]
accounts:
  - {accessKey: the admin, secretKey: secret of it, admin: true}
  - {accessKey: the shop, secretKey: secret of it, whiteRemoteAddress: 10.1.3.3, topicPerms: [t=PUB]}
"""


@pytest.mark.parametrize("address", ["10.1.1.1", "10.1.2.3", "10.1.3.3"])
async def test_white_addresses_of_plain_files(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain_acl.yml").write_text(ACCOUNTS)
    plugins = PluginManager().configured({"plain_acl": {"file": str(tmp_path / "plain_acl.yml")}})
    shop, admin = ("the shop", "secret of it"), ("the admin", "secret of it")
    reads = [signed(send(2), *shop), signed(send(4), "the shop", "wrong"), send(6),
             signed(send(8, "third"), *shop), signed(send(10), *admin)]  # fmt: skip
    first = [signed(send(0), *admin), signed(send(0, "third"), *admin)]
    access = AccessSettings(plain=True)
    found, _ = await heard_by_both(
        tmp_path, monkeypatch, [first, *[[read] for read in reads]], access=access, plugins=plugins,
        address=(address, 4000),
    )  # fmt: skip
    codes = [frame.code for talk in found[1:] for frame in frames(talk.answers).values()]
    white = {"10.1.1.1": [0, 0, 0, 0, 0], "10.1.2.3": [0, 16, 16, 16, 0], "10.1.3.3": [0, 0, 16, 0, 0]}
    assert codes == white[address]
    native = {"10.1.1.1": [0] * 5, "10.1.2.3": [1, 0, 0, 0, 1], "10.1.3.3": [0, 0, 0, 0, 1]}
    assert [talk.native for talk in found[1:]] == native[address]


STORED = [signed(raw, "admin") for raw in (heartbeat(1), *(send(10 + n) for n in range(9)))]


async def test_pulls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [
        signed(pull(20, 0), "shop", "wrong"), pull(20, 0), signed(pull(20, 0, consumerGroup="others")),
        signed(pull(20, 0, topic="other")), again('"Signature":"x"', first=True, raw=signed(pull(20, 0))),
        with_header(signed(pull(20, 0)), b'"queueOffset":"0"', b'"queueOffset":"1"'),
        signed(pull(20, 0, form=BINARY), "shop", "wrong"), pull(20, 0, form=BINARY),
    ]  # fmt: skip
    good = [signed(pull(30, 0)), signed(pull(31, 1)) + signed(pull(32, 0, 1, maxMsgNums=2))]
    good += [signed(pull(33, 0, form=BINARY)), signed(pull(34, 1, form=BINARY)) + signed(pull(35, 0))]
    deny = [signed(pull(40, 0)), allow("shop", "Group:consumers", decision="Deny"), signed(pull(41, 0))]
    talks = [[*BEGIN, *STORED], good, *[[signed(pull(10, 0)), raw, signed(pull(11, 0))] for raw in odd], deny]
    found, _ = await heard_by_both(tmp_path, monkeypatch, talks)
    answers = frames(found[1].answers)
    sizes = [len(answers[number].body) for number in range(30, 36)]
    numbers = [len(list(decode_records(answers[number].body))) for number in range(30, 36)]
    assert found[1].given == sum(numbers) > 12
    assert all(sizes)
    for talk, code in zip(found[2:-1], (16, 16, 16, 16, 0, 16, 16, 16), strict=True):
        assert [frame.code for frame in frames(talk.answers).values()] == [0, code, 0]
        assert talk.given > 0
    last = frames(found[-1].answers)
    assert (last[40].code, last[41].code, found[-1].given) == (0, 16, 6)


class Counting(Authentication):
    """Lets everybody in who is called shop; says nothing of how long that holds."""

    def __init__(self, port: object) -> None:
        self.asked = 0

    def authenticate(self, caller: object, request: object) -> str:
        self.asked += 1
        return "shop"


async def test_plugins_that_promise_nothing_see_every_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = AccessSettings(authentication="test_callers:Counting")
    found, _, _ = await heard(tmp_path, [[send(0), send(1), send(2)]], access=access)
    assert found[0].native == 0


class Heirs:
    """Promise nothing."""

    def authenticate(self, caller: object, request: object) -> str:
        return "shop"

    def authorize(self, user: str, caller: object, needs: object) -> None:
        """Let everybody do everything."""


class Knowing(Heirs):
    """Promises."""

    verdict_version: object = 1

    def signing_key(self, caller: object, user: str) -> bytes | None:
        return b"key"


class Changed(Knowing):
    """Says nothing of who it lets in."""

    def authenticate(self, caller: object, request: object) -> str:
        return "another"


class ChangedGrants(Knowing):
    """Says nothing of what it grants."""

    def authorize(self, user: str, caller: object, needs: object) -> None:
        raise Refused("no", "no")


class ChangedAndSaid(Changed):
    """Says all of it."""

    verdict_version = 2

    def signing_key(self, caller: object, user: str) -> bytes | None:
        return b"another"


class SaidHalf(Changed):
    """Says nothing of keys."""

    verdict_version = 2


@pytest.mark.parametrize(
    ("who", "what", "holds"),
    [
        (Knowing, Knowing, True),
        (Knowing, None, True),
        (Changed, None, False),
        (ChangedGrants, None, True),
        (Knowing, ChangedGrants, False),
        (Knowing, Changed, True),
        (ChangedAndSaid, None, True),
        (SaidHalf, None, False),
        (Heirs, None, False),
        (Knowing, Heirs, False),
    ],
)
def test_a_promise_is_that_of_the_class_which_answers(who: Any, what: Any, holds: bool) -> None:
    assert (judges_of(who(), None if what is None else what()) is not None) == holds


class Known:
    """Everybody may do what `allowed` says; `verdict_version` is what a test says."""

    def __init__(self) -> None:
        self.verdict_version: object = 1
        self.asked: list[str] = []

    def signing_key(self, caller: object, user: str) -> bytes | None:
        return b"key"

    def authorize(self, user: str, caller: object, needs: object) -> None:
        self.asked.append(user)
        if user == "denied":
            raise Refused("no", "no")


def callers(who: Known) -> tuple[KnownCallers, Callable[[str], bool]]:
    known = KnownCallers(Judges(who, who))  # type: ignore[arg-type]
    needs = [topic_need("t", (Action.SUB,))]
    return known, lambda name: known.of(PlainPeer()).may_pull(PlainPeer(), name, name, needs)  # type: ignore[arg-type]


def test_what_is_granted_is_remembered_as_long_as_it_holds() -> None:
    who = Known()
    _, may = callers(who)
    assert [may(name) for name in ("a", "a", "denied", "denied", "a")] == [True, True, False, False, True]
    assert who.asked == ["a", "denied", "denied"], "a denial is for the plugin to say each time"
    who.verdict_version = 2
    assert may("a")
    assert who.asked[3:] == ["a"]


def test_so_much_is_remembered() -> None:
    who = Known()
    known, may = callers(who)
    assert all(may(f"kind {number}") for number in range(KINDS_MAX + 1))
    assert may("kind 0")
    assert len(who.asked) == KINDS_MAX + 2
    first = known.of(PlainPeer("1.1.1.1:1"))  # type: ignore[arg-type]
    for number in range(CONNECTIONS_MAX + 1):
        known.of(PlainPeer(f"2.2.2.2:{number}"))  # type: ignore[arg-type]
    assert known.of(PlainPeer("1.1.1.1:1")) is not first  # type: ignore[arg-type]
