"""What works together with whom: from the results of tests, and from the handlers of all servers."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from distributions import rooms
from generate import table

from mqframe.core.requests import REQUESTS
from mqframe.core.requests.messages import CheckTransactionState
from mqframe.core.requests.unserved import UNSERVED

RESULTS: Final = Path(__file__).with_name("reference") / "compatibility.json"

FEATURES: Final = {
    "sending": "send one by one, one-way, asynchronously, in batches; compressed bodies",
    "consuming": "[share a group](../explanation/rebalance.md), in two languages; broadcasting",
    "filters": "[tags and SQL92](../howto/filters.md)",
    "order": "[order of a queue](../howto/ordered.md), over failures and in two languages",
    "delay": "[delayed messages](../howto/delay.md); of Apache 4.9 by level alone",
    "recall": "[take a delayed message back](../howto/delay.md)",
    "transactions": "[transactions](../howto/transactions.md), with the broker asking",
    "retry": "[retry](../howto/retry.md) and [dead letters](../howto/dead_letters.md)",
    "namespaces": "[namespaces and units](../howto/namespaces.md)",
    "pulling": "pull by offset, [lite pull](../howto/lite_pull.md)",
    "pop": "[pop](../howto/pop.md), [simple consumers](../howto/simple_consumer.md)",
    "request-reply": "[requests and replies](../howto/request_reply.md)",
    "traces": "[traces](../howto/tracing.md)",
    "signatures": "[signed requests](../howto/security.md)",
    "users": "[users and what they may do](../howto/access.md)",
    "TLS": "[TLS](../howto/security.md)",
    "resets": "[resets of offsets](../howto/offsets.md), of members that run",
    "restarts": "a broker that is killed or ends in good order, and is back: all kinds of our clients",
    "plugins": "plugins of clients: allocation, selectors, codecs, telemetry, idempotence, FastStream, kombu",
    "operation": "[administration and inspection](../howto/mqadmin.md)",
    "mixed clusters": "[brokers and name servers of both kinds](../howto/migrate.md) together",
    "replication": "[a slave of one kind that copies a master of the other](../howto/replication.md)",
    "store files": "[a store handed over](../howto/migrate.md), in both directions",
}
"""What tests may prove, and how the page calls it."""

PARTNERS: Final = ("Java", "mqadmin", "Go", "Node", "Apache", "gRPC")
"""The order of columns; versions follow."""

GRPC: Final = {
    "sending": "send",
    "consuming": "push consumers",
    "pop": "simple consumers",
    "filters": "tags, SQL92",
    "order": "order",
    "delay": "delay",
    "recall": "recall",
    "transactions": "transactions",
    "retry": "retries, dead letters",
    "users": "signatures, users",
    "TLS": "TLS",
}
"""What tests prove with clients of gRPC, and how the heads of columns call it."""

SERVERS: Final = {
    "mqframe.nameserver": "name server",
    "mqframe.broker": "broker",
    "mqframe_acl": "`access` of both",
    "mqframe_transactions.broker": "broker",
    "mqframe.client": "clients",
    **dict.fromkeys(rooms("nameserver"), "name server"),
    **dict.fromkeys(rooms("broker"), "broker"),
    **dict.fromkeys(rooms("client"), "clients"),
}
"""Packages in which handlers lie, plugins included, and how the page calls who serves by them."""


def compatibility_page() -> str:
    """Features, requests and the tests that prove them."""
    results = json.loads(RESULTS.read_text("utf-8"))
    return f"{_features(results)}\n{_grpc(results)}\n{_requests(results)}\n{_refused()}\n{_tests(results)}"


def served() -> dict[int, list[str]]:
    """Who serves a request, by its code."""
    found: dict[int, list[str]] = {}
    for package, who in SERVERS.items():
        for code in sorted(set(_served_in(package))):
            if who not in (servers := found.setdefault(code, [])):
                servers.append(who)
    found.setdefault(CheckTransactionState.CODE, ["clients"])  # by a function within a function
    return found


def partners(results: Mapping[str, Any]) -> list[str]:
    """All with whom something is proven, in the order of columns."""
    found = {who for by in results["features"].values() for who in by}
    return sorted(found, key=lambda who: (PARTNERS.index(who.split()[0]), who))


def _features(results: Mapping[str, Any]) -> str:
    columns = [who for who in partners(results) if not _speaks_grpc(who)]
    rows = [
        (text, *(_count(results["features"].get(feature, {}).get(who, ())) for who in columns))
        for feature, text in FEATURES.items()
    ]
    heading = f"## Features\n\nResults of {results['date']}; the figures are numbers of tests.\n\n"
    return heading + table(("", *columns), rows)


def _grpc(results: Mapping[str, Any]) -> str:
    features = results["features"]
    rows = [
        (who.removeprefix("gRPC "), *(_count(features.get(feature, {}).get(who, ())) for feature in GRPC))
        for who in partners(results)
        if _speaks_grpc(who)
    ]
    return _CLIENTS + table(("", *GRPC.values()), rows)


def _speaks_grpc(who: str) -> bool:
    return who.startswith("gRPC ")


def _requests(results: Mapping[str, Any]) -> str:
    rows = [
        (
            str(code),
            f"{REQUESTS[code].__name__}",
            ", ".join(servers),
            ", ".join(sorted(results["requests"].get(str(code), ()))) or "–",
        )
        for code, servers in sorted(served().items())
    ]
    return _SERVED + table(("code", "name", "served by", "sent with success by"), rows)


def _refused() -> str:
    reasons = sorted((reason, code) for code, reason in UNSERVED.items())
    rows = [
        (", ".join(str(code) for _, code in group), reason)
        for reason, group in groupby(reasons, key=lambda each: each[0])
    ]
    return _REFUSED + table(("codes", "reason"), sorted(rows, key=lambda row: int(row[0].partition(",")[0])))


def _tests(results: Mapping[str, Any]) -> str:
    lines = ["## Tests\n"]
    for feature in FEATURES:
        by = results["features"].get(feature, {})
        names = sorted({name for tests in by.values() for name in tests})
        lines += [f"**{feature}**\n", *(f"- `{name.removeprefix('tests/interop/')}`" for name in names), ""]
    return "\n".join(lines)


def _count(tests: list[str]) -> str:
    return str(len(tests)) if tests else "–"


def _served_in(package: str) -> Iterator[int]:
    """The codes of the requests that handlers below `package` are marked with."""
    root = importlib.import_module(package)
    for module in pkgutil.walk_packages(root.__path__, f"{package}."):
        for holder in vars(importlib.import_module(module.name)).values():
            for handler in (holder, *(vars(holder).values() if isinstance(holder, type) else ())):
                kinds = getattr(handler, "request_kinds", ())
                yield from {kind.CODE for kind in kinds} if isinstance(kinds, tuple) else ()


_CLIENTS: Final = """## Clients of gRPC

The official clients of RocketMQ 5 at the [door](../howto/grpc.md) of a broker, and in their main ways at
`mqframe proxy`. A dash is what a client lacks, or what was not tried with it. Rust's has no push
consumer: a loop that receives with its simple one stands for it here.

"""

_SERVED: Final = """## Requests

Every request that servers or clients of mqframe serve ([fields](requests.md)). The last column says who got
an answer of success in a test; where clients serve, that was a broker.

"""

_REFUSED: Final = """## Requests that are refused with a reason

The answer is code 3 (REQUEST_CODE_NOT_SUPPORTED) with the reason. Other codes get code 3 with the number
alone: `request code 4711 is not supported`.

"""
