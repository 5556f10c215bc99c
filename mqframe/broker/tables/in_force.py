"""Settings of a broker that concern its services, as they are in force now."""

from __future__ import annotations

from mqframe.broker.tables.live_settings import LiveSettings


class InForce:
    """A `SettingsInForce`: operators change what `live` holds while the broker runs."""

    __slots__ = ("_live",)

    def __init__(self, live: LiveSettings) -> None:
        self._live = live

    @property
    def permission(self) -> int:
        """What may be done here: 4 read, 2 write, 6 both."""
        return self._live.current.permission

    @property
    def region(self) -> str:
        """The region that messages are marked with."""
        return self._live.current.region

    @property
    def trace_on(self) -> bool:
        """Whether clients may trace their messages."""
        return self._live.current.trace_on

    @property
    def pull_bytes_max(self) -> int:
        """Most bytes that a reader is given at once near the end of the log."""
        return self._live.current.pull_bytes_max

    @property
    def cold_pull_bytes_max(self) -> int:
        """Most bytes that a reader is given at once far behind the end of the log."""
        return self._live.current.cold_pull_bytes_max

    @property
    def keep_hours(self) -> int:
        """Age at which messages go."""
        return self._live.store.keep_hours
