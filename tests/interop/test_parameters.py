"""Our table of parameters by version, beside the classes of the versions."""

from __future__ import annotations

import msgspec
import pytest
from request_kinds import ROCKETMQ_S

from interop.conftest import need, newest_and
from interop.foreign_programs import LATEST, OLDER
from interop.java_headers import codes, fields_of, header_names
from mqframe.core.cluster.topic_bodies import TopicConfig
from mqframe.core.consuming.group_config import SubscriptionGroupConfig
from mqframe.core.parameters import parameters
from mqframe.core.requests.fields import ONLY_OURS, Request
from mqframe.core.versions import version_number

VERSIONS = pytest.mark.parametrize("version", newest_and(OLDER, LATEST))
KINDS = list(ROCKETMQ_S.values())
NO_FIELD = "_UNIQUE_KEY_QUERY"
"""What all versions read beside the header's class (QueryMessageProcessor.java, `UNIQUE_MSG_QUERY_FLAG`)."""


def has(version: str, since: str, until: str = "") -> bool:
    number = version_number(version)
    return version_number(since or "4.9.0") <= number and not (until and number >= version_number(until))


def differences(kind: type[msgspec.Struct], java: frozenset[str], version: str) -> list[str]:
    """What our table says of the fields of `kind` otherwise than the class whose fields are `java`."""
    marks = {each.wire_name: each.since for each in parameters(kind)}
    found = []
    for name in kind.__struct_encode_fields__:
        since = marks.get(name)
        if since is None:
            wanted = True
        else:
            wanted = bool(since.version) and has(version, since.version, since.until)
        if (name in java) != wanted and name != NO_FIELD:
            found.append(f"{kind.__name__}.{name}: {'is' if wanted else 'is not'} there, says our table")
    return found


@VERSIONS
def test_fields_of_requests_are_as_new_as_our_table_says(version: str) -> None:
    need("java", "javap", "mvn")
    compared, wrong = 0, list[str]()
    for kind in KINDS:
        java = fields_of(version, header_names().get(kind.CODE, ""))
        if java and has(version, kind.SINCE):
            compared += 1
            wrong += differences(kind, java, version)
    assert wrong == []
    assert compared > 40


@VERSIONS
@pytest.mark.parametrize("body", [SubscriptionGroupConfig, TopicConfig])
def test_fields_of_bodies_are_as_new_as_our_table_says(version: str, body: type[msgspec.Struct]) -> None:
    need("java", "javap", "mvn")
    assert differences(body, fields_of(version, body.__name__), version) == []


@VERSIONS
def test_kinds_of_requests_are_as_new_as_our_table_says(version: str) -> None:
    need("java", "javap", "mvn")
    dropped = {50, 51, 52, 53, 54} if version != OLDER else set()

    def wanted(kind: type[Request]) -> bool:
        return kind.CODE not in dropped and kind.SINCE != ONLY_OURS and has(version, kind.SINCE)

    assert [kind.__name__ for kind in KINDS if (kind.CODE in codes(version)) != wanted(kind)] == []
