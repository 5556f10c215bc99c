"""Header fields of any request kind, made from its class: mostly right, some missing, some of them odd."""

from __future__ import annotations

from random import Random
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from fuzz import values
from fuzz.facts import Facts
from fuzz.properties import properties_text

from mqframe.core.requests import Request

ALIASES = {"offset": ("offset", "commitLogOffset", "queueOffset"), "msgId": ("msgId", "transactionId")}
_BOOLEANS = ("true", "false", "TRUE", "1", "0", "yes", "", "null")


class HeaderMaker:
    """Makes `Frame.ext` of requests. `now_ms`: wall-clock time of the servers."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def fields(self, kind: type[Request], chance: Random, now_ms: int, odd: float) -> dict[str, str]:
        """The fields of a `kind`; each is odd with a chance of `odd`."""
        hints = get_type_hints(kind, include_extras=False)
        made = {}
        for name, wire in zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True):
            optional = type(None) in get_args(hints[name])
            if values.flip(chance, 0.5 if optional else odd * 0.15):
                continue
            made[wire] = self._value(name, wire, _plain(hints[name]), chance, now_ms, odd)
        if "extraInfo" in made and not values.flip(chance, odd):
            words = made["extraInfo"].split(" ")
            if len(words) == 8:
                made["queueId"], made["offset"] = words[6:]
        if values.flip(chance, odd * 0.3):
            made[values.text(chance)[:2000]] = values.text(chance)
        return made

    def _value(self, name: str, wire: str, kind: Any, chance: Random, now_ms: int, odd: float) -> str:
        if not values.flip(chance, odd) and values.flip(chance, 0.6):
            for alias in ALIASES.get(wire, (wire,)):
                known = self._facts.some(chance, alias)
                if known is not None:
                    return known
        if kind is bool:
            return chance.choice(_BOOLEANS) if values.flip(chance, odd) else chance.choice(("true", "false"))
        if kind is int:
            return self._number(name, chance, now_ms, odd)
        return self._text(name, chance, odd)

    def _number(self, name: str, chance: Random, now_ms: int, odd: float) -> str:
        if values.flip(chance, odd):
            return values.number_text(chance)
        if "time" in name and not name.endswith(("times", "millis", "poll_time", "invisible_time")):
            return str(now_ms + chance.choice((0, -1, 1, -5000, 5000, -86_400_000)))
        if name in ("invisible_time", "poll_time", "suspend_timeout_millis"):
            return str(chance.choice((0, 1, 1000, 10_000, 60_000)))
        if name == "queue_id":
            return str(chance.choice((0, 1, 2, 3, -1)))
        if name == "sys_flag":
            return str(chance.choice((0, 0, 0, 2, 6, 3, 4, 8, 12, 0x10, 0x20, 0x301, 0x101, 0x201, 1, 0x80)))
        if name == "perm":
            return str(chance.choice((6, 4, 2, 0, 7)))
        if name == "commit_or_rollback":
            return str(chance.choice((0, 8, 12)))
        if "nums" in name or name == "count":
            return str(chance.choice((1, 2, 4, 8, 32)))
        return str(chance.choice((0, 0, 1, 1, 2, 3, 5, 10)))

    def _text(self, name: str, chance: Random, odd: float) -> str:
        if name == "properties":
            return properties_text(chance, odd)
        if values.flip(chance, odd * 0.4):
            return values.text(chance)
        if "topic" in name:
            return values.topic(chance, odd)
        if "group" in name:
            return values.group(chance, odd)
        if name in ("subscription", "exp"):
            return chance.choice(values.EXPRESSIONS)
        if name in ("expression_type", "exp_type"):
            return chance.choice(("TAG", "SQL92", "TAG", "CLASS", "x"))
        if name in ("broker_name", "bname"):
            return chance.choice(("broker-a", "broker-b", values.topic(chance, odd)))
        if name == "extra_info":
            words = [str(chance.choice((0, 1, 5, 999, values.number(chance)))) for _ in range(8)]
            words[5] = "broker-a"
            return " ".join(words[: chance.choice((7, 8, 8, 8, 9))])
        if "addr" in name:
            return chance.choice(("127.0.0.1:1", "h:0", "[::1]:9", "x", "", "127.0.0.1:99999999"))
        if name == "namespace":
            return chance.choice(("n", "ORDER_TOPIC_CONFIG", values.topic(chance, odd)))
        return chance.choice((values.topic(chance, odd), values.text(chance), "x"))


def _plain(hint: Any) -> Any:
    """int, bool or str, without `None` and limits."""
    if get_origin(hint) is UnionType or type(None) in get_args(hint):
        return _plain(next(each for each in get_args(hint) if each is not type(None)))
    return hint
