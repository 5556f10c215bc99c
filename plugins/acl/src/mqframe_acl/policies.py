"""Policies of a user: what may be done with which resources, from where.

Custom entries count before default ones. Of the entries that fit a need the most particular decides: a kind
of resource before all kinds, a name before a prefix, a longer prefix before a shorter one, those before every
name; of two alike a denial. Where none fits the answer is no (source: AclAuthorizationHandler.java).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Final

import attrs
from mqframe_admin.access.bodies import AclInfo, PolicyEntryInfo, PolicyInfo

from mqframe.core.requests.needs import Action, Need, Resource
from mqframe_acl.networks import Address, Network, network, within

EVERYTHING: Final = "*"
ENTRIES_MAX: Final = 1000
"""Most entries of one user."""


class PolicyType(StrEnum):
    """Which entries count first (source: PolicyType.java)."""

    CUSTOM = "Custom"
    DEFAULT = "Default"


class Form(IntEnum):
    """How a pattern is written, the most particular first (source: ResourcePattern.java)."""

    LITERAL = 0
    PREFIXED = 1
    ANY = 2


@attrs.frozen
class Pattern:
    """Names of resources; `kind`: `None` for resources of every kind."""

    kind: Resource | None
    form: Form
    name: str = ""

    def __str__(self) -> str:
        if self.kind is None:
            return EVERYTHING
        return f"{self.kind}:{self.name}{'' if self.form is Form.LITERAL else EVERYTHING}"

    def fits(self, need: Need) -> bool:
        """Whether the resource of `need` is among them. An empty name stands for all, and needs all."""
        if self.kind is None:
            return True
        if self.kind is not need.resource:
            return False
        if self.form is Form.LITERAL:
            return bool(need.name) and self.name == need.name
        return self.form is Form.ANY or (bool(need.name) and need.name.startswith(self.name))


@attrs.frozen
class Entry:
    """One line. `actions`: `None` for all; `networks`: none means from everywhere."""

    pattern: Pattern
    actions: frozenset[Action] | None
    networks: tuple[Network, ...]
    sources: tuple[str, ...]
    allow: bool

    def fits(self, need: Need, address: Address | None) -> bool:
        """Whether it says anything of `need` of somebody at `address`."""
        return (
            self.pattern.fits(need)
            and (self.actions is None or not self.actions.isdisjoint(need.actions))
            and (not self.networks or within(address, self.networks))
        )

    @property
    def rank(self) -> tuple[bool, int, int, bool]:
        """Sorts entries such that the first that fits decides."""
        pattern = self.pattern
        return pattern.kind is None, pattern.form, -len(pattern.name), self.allow


@attrs.frozen
class Policies:
    """All policies of one user, as they are shown and as they are asked."""

    by_type: dict[PolicyType, tuple[Entry, ...]] = attrs.field(factory=dict)
    _ranked: tuple[tuple[Entry, ...], ...] = attrs.field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        found = (self.by_type.get(kind, ()) for kind in PolicyType)
        ranked = tuple(tuple(sorted(entries, key=lambda each: each.rank)) for entries in found)
        object.__setattr__(self, "_ranked", ranked)

    @property
    def by_place(self) -> bool:
        """Whether an answer may depend on where somebody is."""
        return any(entry.networks for entries in self.by_type.values() for entry in entries)

    def allow(self, need: Need, address: Address | None) -> bool:
        """Whether `need` is granted to the user at `address`."""
        for entries in self._ranked:
            for entry in entries:
                if entry.fits(need, address):
                    return entry.allow
        return False

    def with_entries(self, kind: PolicyType, fresh: Iterable[Entry]) -> Policies:
        """These, and `fresh` in the place of entries for the same resources. Raises ValueError."""
        entries = {entry.pattern: entry for entry in self.by_type.get(kind, ())}
        entries |= {entry.pattern: entry for entry in fresh}
        if len(entries) > ENTRIES_MAX:
            raise ValueError(f"{len(entries)} entries are more than the {ENTRIES_MAX} that a user may have")
        return Policies(self.by_type | {kind: tuple(entries.values())})

    def without(self, kind: PolicyType, pattern: Pattern) -> Policies:
        """These but for the entry of `pattern`."""
        left = tuple(entry for entry in self.by_type.get(kind, ()) if entry.pattern != pattern)
        rest = {each: entries for each, entries in self.by_type.items() if each is not kind}
        return Policies(rest | ({kind: left} if left else {}))

    def shown(self, resource_filter: str = "") -> list[PolicyInfo]:
        """As bodies carry them; only entries whose resource contains `resource_filter`."""
        found = []
        for kind, entries in self.by_type.items():
            infos = [_shown(entry) for entry in entries if resource_filter in str(entry.pattern)]
            if infos:
                found.append(PolicyInfo(entries=infos, policy_type=kind.value))
        return found


def pattern_of(text: str) -> Pattern:
    """The resources that `text` names, for example "Topic:ord*". Raises ValueError."""
    if text == EVERYTHING:
        return Pattern(None, Form.ANY)
    kind_name, _, name = text.partition(":")
    kind = next((each for each in Resource if each.lower() == kind_name.lower()), None)
    if kind is None or not name:
        raise ValueError(
            f"resource {text!r} is not Topic:…, Group:…, Cluster:… with a name, a beginning and * or * alone"
        )
    if name == EVERYTHING:
        return Pattern(kind, Form.ANY)
    if name.endswith(EVERYTHING):
        return Pattern(kind, Form.PREFIXED, name[:-1])
    return Pattern(kind, Form.LITERAL, name)


def policies_of(info: AclInfo, old: Policies) -> Policies:
    """`old` with what `info` brings. Raises ValueError that says what is wrong with it."""
    if not info.policies:
        raise ValueError("the policies are empty")
    for policy in info.policies:
        if not policy.entries:
            raise ValueError("the entries of a policy are empty")
        old = old.with_entries(type_of(policy.policy_type), map(_entry, policy.entries))
    return old


def type_of(text: str | None) -> PolicyType:
    """The policy type called `text`; Custom where it is not said. Raises ValueError."""
    if not text:
        return PolicyType.CUSTOM
    found = next((each for each in PolicyType if each.lower() == text.lower()), None)
    if found is None:
        raise ValueError(f"policy type {text!r} is neither Custom nor Default")
    return found


def _entry(info: PolicyEntryInfo) -> Entry:
    decision = (info.decision or "").lower()
    if decision not in ("allow", "deny"):
        raise ValueError(f"decision {info.decision!r} is neither Allow nor Deny")
    sources = tuple(each.strip() for each in info.source_ips or ())
    return Entry(
        pattern_of(info.resource),
        _actions(info.actions or []),
        tuple(map(network, sources)),
        sources,
        decision == "allow",
    )


def _actions(names: list[str]) -> frozenset[Action] | None:
    known = {each.lower(): each for each in Action}
    if not names:
        raise ValueError("the actions are empty")
    found = set()
    for name in names:
        if name.lower() == "all":
            return None
        if name.lower() not in known:
            raise ValueError(f"action {name!r} is none of All, {', '.join(Action)}")
        found.add(known[name.lower()])
    return frozenset(found)


def _shown(entry: Entry) -> PolicyEntryInfo:
    actions = ["All"] if entry.actions is None else [each.value for each in Action if each in entry.actions]
    return PolicyEntryInfo(
        resource=str(entry.pattern),
        actions=actions,
        decision="Allow" if entry.allow else "Deny",
        source_ips=list(entry.sources) or None,
    )
