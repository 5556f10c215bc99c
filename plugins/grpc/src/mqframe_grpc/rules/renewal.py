"""Messages in work at push consumers: hidden a minute at a time, until their consumer is done with them.

Apache's proxy hides a message for up to an hour at a time; with small steps all comes back within a minute of
the door's death. Source: DefaultReceiptHandleManager.java, ReceiptHandleGroup.java.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from mqframe_grpc.rules.handles import DoorHandle

RENEW_MS: Final = 60_000
RENEW_AHEAD_MS: Final = 10_000
RENEW_MAX_MS: Final = 3 * 3_600_000
TRIES: Final = 3
GIVEN_BACK_MS: Final = 1000
"""When others get what somebody had, or would have got, who is gone."""
_SPAN_MS: Final = 1000
"""How much of time shares a bucket: so few of them that all can be looked at."""

_Key = tuple[str, str, str, str, int, int]
"""Topic, message id, and of the handle: retry mark, broker name, queue id, offset.

Message ids are the senders': several topics may have the same, and a message that comes again lies in another
topic at an offset which the first may have had. Either would let an acknowledgement take the wrong one.
"""


class InWork(msgspec.Struct, eq=False, gc=False):
    """One delivery that is renewed.

    `client`, `group`: whose it is; `topic`: as the client knows it; `message_id`; `key`: what it is found by;
    `handle`: the newest one, to be used whatever the client hands back; `reconsume_times`: how often the
    message came back before; `delivered_ms`: since when it is in work; `ends_ms`: when it is visible again;
    `due_ms`: when it is to be renewed; `failures`: tries of that in a row that failed; `renewing`: a change
    is under way, so that `handle` may be replaced any moment; `gone`: `Renewals` do not know it any more.
    Times are those of `Renewals`.
    """

    client: str
    group: str
    topic: str
    message_id: str
    key: _Key
    handle: DoorHandle
    reconsume_times: int
    delivered_ms: int
    ends_ms: int
    due_ms: int
    failures: int = 0
    renewing: bool = False
    gone: bool = False


class DueRenewals(NamedTuple):
    """What is to be done now, by a change of the invisible time each.

    `renew`: to `Renewals.renew_ms`, which is then reported by `renewed` or `failed`; `let_go`: a last time to
    what the group waits before a retry, which nobody wants to know about.
    """

    renew: list[InWork]
    let_go: list[InWork]


class Renewals:
    """All messages that are renewed, and what is due when; one such object a door.

    Of each delivery, by client id, group, topic, message id, retry mark, broker, queue and offset:

        absent    --deliver-->                            waiting   hidden for renew_ms
        waiting   --deliver-->                            absent    the newer delivery waits in its place
        waiting   --due, it ends within ahead_ms-->       renewing  given, to be changed to renew_ms
        waiting   --due, in work for max_ms-->            absent    given, to be changed to the retry delay
        waiting   --take, give_back-->                    absent    whoever took it uses its handle
        renewing  --renewed-->                            waiting   with the new handle, for renew_ms
        renewing  --failed, not yet the last try-->       waiting   until the next
        renewing  --failed, the last try, or not ours-->  absent    the message comes back by itself
        renewing  --take, give_back, deliver-->           taken     whoever took it waits
        taken     --renewed, failed-->                    absent    whoever took it uses its handle, now
        absent    --put_back-->                           waiting   unless it was delivered anew
        taken     --put_back-->                           renewing  the same

    Renewing entries have `renewing`, absent ones `gone`, and taken ones both. Clients know their first handle
    only: they acknowledge, change and forward with it. So whoever does these takes the entry, waits while it
    is `renewing`, and uses the handle that it has then. What failed in a way that may pass is put back, for
    the client will try again with its first handle.

    `renew_ms`: for how long messages are hidden, at the delivery and each time; `ahead_ms`: how long before
    the end that is done, and thus how much time the tries have; `max_ms`: how long a message may be in work;
    `tries`: of a renewal. Raises `ValueError` where these cannot be kept. All times are ms of one clock that
    never jumps: only differences count.
    """

    def __init__(
        self,
        renew_ms: int = RENEW_MS,
        ahead_ms: int = RENEW_AHEAD_MS,
        max_ms: int = RENEW_MAX_MS,
        tries: int = TRIES,
    ) -> None:
        if not 0 <= ahead_ms < renew_ms or tries < 1:
            raise ValueError(
                f"{tries} tries to renew for {renew_ms} ms, {ahead_ms} ms ahead: none would help"
            )
        self.renew_ms = renew_ms
        self._ahead_ms = ahead_ms
        self._max_ms = max_ms
        self._tries = tries
        self._pause_ms = ahead_ms // (tries + 1)
        self._clients: dict[str, dict[str, dict[_Key, InWork]]] = {}
        self._waiting: dict[int, dict[InWork, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def members(self) -> list[tuple[str, str]]:
        """Client id and group of everybody who has messages in work: the owner looks who of them is gone."""
        return [(client, group) for client, groups in self._clients.items() for group in groups]

    def has(self, client: str, group: str) -> bool:
        """Whether `client` has messages of `group` in work."""
        groups = self._clients.get(client)
        return groups is not None and group in groups

    def deliver(
        self,
        client: str,
        group: str,
        topic: str,
        message_id: str,
        handle: DoorHandle,
        now_ms: int,
        reconsume_times: int = 0,
    ) -> InWork:
        """A message was popped for `renew_ms`, for `client`: it is renewed until somebody takes it."""
        ends_ms = now_ms + self.renew_ms
        due_ms = ends_ms - self._ahead_ms
        key = _key(topic, message_id, handle)
        entry = InWork(
            client, group, topic, message_id, key, handle, reconsume_times, now_ms, ends_ms, due_ms
        )
        groups = self._clients.get(client)
        if groups is None:
            groups = self._clients[client] = {}
        entries = groups.get(group)
        if entries is None:
            entries = groups[group] = {}
        older = entries.get(key)
        if older is not None:
            self._leave(older)
        else:
            self._count += 1
        entries[key] = entry
        bucket = self._waiting.get(due_ms // _SPAN_MS)
        if bucket is None:
            bucket = self._waiting[due_ms // _SPAN_MS] = {}
        bucket[entry] = None
        return entry

    def take(self, client: str, group: str, topic: str, message_id: str, handle: DoorHandle) -> InWork | None:
        """End the renewal of the message that `client` means by any of its handles; `None` if there is none.

        The newest handle is the entry's. Where the entry is `renewing`, it is that only after `renewed` or
        `failed` was told of it.
        """
        groups = self._clients.get(client)
        entries = groups.get(group) if groups is not None else None
        if groups is None or entries is None:
            return None
        entry = entries.pop(_key(topic, message_id, handle), None)
        if entry is None:
            return None
        if not entries:
            self._forget_group(client, groups, group)
        self._count -= 1
        self._leave(entry)
        return entry

    def put_back(self, entry: InWork) -> bool:
        """Go on renewing what was taken: it is not done after all. Whether that is so: not when it was
        delivered anew, or is not gone at all."""
        if not entry.gone:
            return False
        entries = self._clients.setdefault(entry.client, {}).setdefault(entry.group, {})
        if entries.setdefault(entry.key, entry) is not entry:
            return False
        self._count += 1
        entry.gone = False
        if not entry.renewing:
            self._wait(entry, entry.ends_ms - self._ahead_ms)
        return True

    def give_back(self, client: str, group: str | None = None) -> list[InWork]:
        """A client is gone from `group`, or from all of its own: what it had in work is taken.

        Others get it soon when the invisible time of each is changed to a second.
        """
        groups = self._clients.get(client, {})
        found: list[InWork] = []
        for name in list(groups) if group is None else [group]:
            found += groups.pop(name, {}).values()
        if not groups:
            self._clients.pop(client, None)
        self._count -= len(found)
        for entry in found:
            self._leave(entry)
        return found

    def due(self, now_ms: int, most: int | None = None) -> DueRenewals:
        """What has to be changed by now, those first that wait longest; `most`: not more than so many.

        What is given is renewing, or gone.
        """
        due = DueRenewals([], [])
        left = self._count if most is None else most
        last = now_ms // _SPAN_MS
        for span in sorted([span for span in self._waiting if span <= last]):
            if left == 0:
                break
            bucket = self._waiting[span]
            ready = [entry for entry in bucket if entry.due_ms <= now_ms][:left]
            left -= len(ready)
            for entry in ready:
                del bucket[entry]
                if now_ms - entry.delivered_ms >= self._max_ms:
                    entry.gone = True
                    self._remove(entry)
                    due.let_go.append(entry)
                else:
                    entry.renewing = True
                    due.renew.append(entry)
            if not bucket:
                del self._waiting[span]
        return due

    def renewed(self, entry: InWork, handle: DoorHandle, now_ms: int) -> bool:
        """A renewal went well: `handle` is the new one. Whether the message is in work still.

        If not, it was taken, or delivered anew, and whoever took it may go on, with the new handle.
        """
        entry.handle = handle
        entry.renewing = False
        entry.failures = 0
        entry.ends_ms = now_ms + self.renew_ms
        if entry.gone:
            return False
        self._wait(entry, entry.ends_ms - self._ahead_ms)
        return True

    def failed(self, entry: InWork, now_ms: int, *, ours: bool = True) -> bool:
        """A renewal failed. `ours`: the broker did not say that the handle is another's by now, or none.

        Whether it will be tried again. If not, the message is let go, or was taken before: then whoever took
        it may go on, with the handle that there is.
        """
        entry.renewing = False
        if entry.gone:
            return False
        entry.failures += 1
        if not ours or entry.failures >= self._tries:
            entry.gone = True
            self._remove(entry)
            return False
        self._wait(entry, now_ms + self._pause_ms)
        return True

    def _wait(self, entry: InWork, due_ms: int) -> None:
        entry.due_ms = due_ms
        self._waiting.setdefault(due_ms // _SPAN_MS, {})[entry] = None

    def _leave(self, entry: InWork) -> None:
        entry.gone = True
        if not entry.renewing:
            span = entry.due_ms // _SPAN_MS
            bucket = self._waiting[span]
            del bucket[entry]
            if not bucket:
                del self._waiting[span]

    def _remove(self, entry: InWork) -> None:
        groups = self._clients[entry.client]
        entries = groups[entry.group]
        del entries[entry.key]
        self._count -= 1
        if not entries:
            self._forget_group(entry.client, groups, entry.group)

    def _forget_group(self, client: str, groups: dict[str, dict[_Key, InWork]], group: str) -> None:
        del groups[group]
        if not groups:
            del self._clients[client]


def _key(topic: str, message_id: str, handle: DoorHandle) -> _Key:
    of = handle.handle
    return topic, message_id, of.mark, of.broker_name, of.queue_id, of.offset
