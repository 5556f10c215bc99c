"""`[quotas."KIND:NAME"]` in files of definitions (`mqframe-plugin-definitions` reads them)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, ClassVar

import msgspec

from mqframe.core.errors import FixError, SettingError
from mqframe_quotas.admin import QuotasAdmin
from mqframe_quotas.rules.limits import LIMITS, Quota, problem_of

if TYPE_CHECKING:
    from mqframe import Admin


class QuotaSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A quota; the fields are those of `Quota`."""

    send_bytes: int = 0
    send_messages: int = 0
    read_bytes: int = 0
    read_messages: int = 0
    connections: int = 0
    in_flight: int = 0


class QuotaDefinitions:
    """Quotas that were set at the brokers of a cluster, a kind of definitions. Those of settings are none."""

    Spec: ClassVar[type[msgspec.Struct]] = QuotaSpec
    rank: ClassVar[int] = 50
    only_new: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._quotas = QuotasAdmin(admin)

    def current(self, names: Collection[str] | None) -> Mapping[str, Mapping[str, QuotaSpec | None]]:
        """Each quota by broker, `None` where it was not set; nothing of a cluster without the service."""
        if names is not None and not names:
            return {}
        try:
            states = self._quotas.list()
        except FixError:
            if names is None:
                return {}
            raise
        brokers = self._admin.cluster.masters()
        found: dict[str, dict[str, QuotaSpec | None]] = {}
        for state in states:
            name = f"{state.quota.kind}:{state.quota.name}"
            if state.kept and (names is None or name in names):
                found.setdefault(name, dict.fromkeys(brokers))[state.broker] = _spec_of(state.quota)
        return found

    def apply(self, name: str, wanted: QuotaSpec, *, new: bool) -> None:
        """Set a quota at all brokers."""
        self._quotas.set(_quota_of(name, wanted))

    def delete(self, name: str) -> None:
        """Delete a quota that was set."""
        self._quotas.delete(*_quota_of(name, QuotaSpec()).key)


def _spec_of(quota: Quota) -> QuotaSpec:
    return QuotaSpec(**{limit: quota.limit(limit) for limit in LIMITS})


def _quota_of(name: str, spec: QuotaSpec) -> Quota:
    kind, _, whose = name.partition(":")
    quota = Quota(kind=kind, name=whose, **{limit: getattr(spec, limit) for limit in LIMITS})
    problem = problem_of(quota)
    if problem:
        raise SettingError(f'[quotas."{name}"]: {problem}; the name of a quota is "KIND:NAME"')
    return quota
