"""Stores that keep keys in Redis: in progress under a lease, then done."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, Final
from uuid import uuid4

import attrs

from mqframe.log import get_logger
from mqframe_idempotence.errors import StoreAway, WrongUse
from mqframe_idempotence.renewing import Renewer
from mqframe_idempotence.steps import Steps, run, run_async
from mqframe_idempotence.stores import KEEP_SECONDS, Claim, Claims

log = get_logger("idempotence")

LEASE_SECONDS: Final = 30.0
PREFIX: Final = "mqframe:idempotence:"
_RENEWALS_A_LEASE: Final = 3
_DONE: Final = "done:"
"""The value of a key that is done, its holder's token behind it; that of a key in progress is the token."""

FINISH: Final = """\
local value = redis.call('GET', KEYS[1])
local done = 'done:' .. ARGV[1]
if value == done then return 1 end
if value == false or value == ARGV[1] then redis.call('SET', KEYS[1], done, 'PX', ARGV[2]) return 1 end
return 0"""
RELEASE: Final = """\
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0"""
RENEW: Final = """\
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0"""

Command = tuple[Any, ...]


@attrs.frozen
class LeaseOptions:
    """See `RedisStore`; times are milliseconds."""

    lease_ms: int
    keep_ms: int
    prefix: str


class _RedisTable:
    """What both stores share."""

    in_transaction = False

    def __init__(self, client: Any, lease_seconds: float, keep_seconds: float, prefix: str) -> None:
        if find_spec("redis") is None:
            raise WrongUse('redis-py is missing; pip install "mqframe-plugin-idempotence[redis]"')
        if not lease_seconds >= 0.01:
            raise WrongUse(f"lease_seconds={lease_seconds!r} is to be at least 0.01")
        if not keep_seconds > 0:
            raise WrongUse(f"keep_seconds={keep_seconds!r} is to be more than 0")
        self._client = client
        self._lease_seconds = lease_seconds
        self._options = LeaseOptions(round(lease_seconds * 1000), max(1, round(keep_seconds * 1000)), prefix)


class RedisStore(_RedisTable):
    """Keys in Redis, through redis-py's `redis.Redis`.

    `client`: a client whose socket time-outs are shorter than the lease. `lease_seconds`: for how long a key
    stays in progress when its process dies; while the listener runs the lease is renewed. `keep_seconds`: for
    how long a key is known once it is done. `prefix`: how names of keys in Redis begin. Raises `WrongUse`.
    """

    is_async = False

    def __init__(
        self,
        client: Any,
        *,
        lease_seconds: float = LEASE_SECONDS,
        keep_seconds: float = KEEP_SECONDS,
        prefix: str = PREFIX,
    ) -> None:
        super().__init__(client, lease_seconds, keep_seconds, prefix)
        self._renewer = Renewer(lease_seconds / _RENEWALS_A_LEASE)

    def open(self, scope: str) -> RedisAttempt:
        """A new attempt."""
        return RedisAttempt(Leases(self._client, scope, self._options), self._renewer)


class AsyncRedisStore(_RedisTable):
    """As `RedisStore`, through `redis.asyncio.Redis`."""

    is_async = True

    def __init__(
        self,
        client: Any,
        *,
        lease_seconds: float = LEASE_SECONDS,
        keep_seconds: float = KEEP_SECONDS,
        prefix: str = PREFIX,
    ) -> None:
        super().__init__(client, lease_seconds, keep_seconds, prefix)

    def open(self, scope: str) -> AsyncRedisAttempt:
        """A new attempt."""
        return AsyncRedisAttempt(
            Leases(self._client, scope, self._options), self._lease_seconds / _RENEWALS_A_LEASE
        )


class Leases:
    """The keys of one attempt. Methods give the steps of an `Attempt`'s methods; each is one round trip."""

    def __init__(self, client: Any, scope: str, options: LeaseOptions) -> None:
        self._client = client
        self._options = options
        self._before = f"{options.prefix}{scope}:"
        self._token = uuid4().hex
        self.ours: list[str] = []

    def claim(self, keys: Sequence[str]) -> Steps[dict[str, Claim]]:
        """Put our token where nothing is, and look what is there."""
        self.ours = list(keys)  # should the answer get lost, all of them are given up
        commands: list[Command] = []
        for key in keys:
            name = self._before + key
            commands += (
                ("SET", name, self._token, "NX", "PX", self._options.lease_ms),
                ("GET", name),
            )
        replies = yield from self._send(commands)
        found = {key: self._claim_of(value) for key, value in zip(keys, replies[1::2], strict=True)}
        self.ours = [key for key, claim in found.items() if claim is Claim.NEW]
        return found

    def finish(self, keys: Sequence[str]) -> Steps[int]:
        """Mark `keys` as done, and release the others; how many had been taken by somebody else."""
        done = set(keys)
        commands = [
            self._script(FINISH, key, self._options.keep_ms) if key in done else self._script(RELEASE, key)
            for key in self.ours
        ]
        replies = yield from self._send(commands)
        kept = [reply for key, reply in zip(self.ours, replies, strict=True) if key in done]
        self.ours = []
        return kept.count(0)

    def release(self) -> Steps[None]:
        """Release all that is ours."""
        ours, self.ours = self.ours, []
        yield from self._send([self._script(RELEASE, key) for key in ours])

    def renew(self) -> Steps[int]:
        """Another lease for all that is ours; how many had been lost."""
        ours = self.ours
        replies = yield from self._send([self._script(RENEW, key, self._options.lease_ms) for key in ours])
        return replies.count(0)

    def _claim_of(self, value: Any) -> Claim:
        text = value.decode() if isinstance(value, bytes) else value
        if text == self._token:
            return Claim.NEW
        return Claim.DONE if isinstance(text, str) and text.startswith(_DONE) else Claim.BUSY

    def _script(self, script: str, key: str, *more: object) -> Command:
        return ("EVALSHA", _sha(script), 1, self._before + key, self._token, *more)

    def _send(self, commands: Sequence[Command]) -> Steps[list[Any]]:
        from redis.exceptions import NoScriptError, RedisError

        if not commands:
            return []
        try:
            replies = yield partial(self._piped, commands)
            if any(isinstance(reply, NoScriptError) for reply in replies):
                loads: list[Command] = [("SCRIPT LOAD", script) for script in (FINISH, RELEASE, RENEW)]
                replies = (yield partial(self._piped, [*loads, *commands]))[len(loads) :]
        except (RedisError, OSError) as problem:
            raise StoreAway(f"Redis could not be used: {type(problem).__name__}: {problem}") from problem
        for reply in replies:
            if isinstance(reply, Exception):
                raise StoreAway(f"Redis refused a command: {reply}") from reply
        return list(replies)

    def _piped(self, commands: Sequence[Command]) -> Any:
        pipe = self._client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        return pipe.execute(raise_on_error=False)


class RedisAttempt:
    """One try; see `Attempt`."""

    session = None

    def __init__(self, leases: Leases, renewer: Renewer) -> None:
        self._leases = leases
        self._renewer = renewer

    def claim(self, keys: Sequence[str]) -> Claims:
        """Claim `keys`."""
        found = run(self._leases.claim(keys))
        if self._leases.ours:
            self._renewer.add(self, self._renew)
        return found

    def finish(self, keys: Sequence[str]) -> int:
        """Note `keys` as done."""
        self._renewer.remove(self)
        return run(self._leases.finish(keys))

    def give_up(self) -> None:
        """Release what was claimed."""
        self._renewer.remove(self)
        run(self._leases.release())

    def close(self) -> None:
        """Renew no more."""
        self._renewer.remove(self)

    def _renew(self) -> None:
        try:
            _tell(run(self._leases.renew()))
        except Exception as problem:  # the next one may succeed; `finish` will tell
            log.warning("leases could not be renewed", reason=str(problem))


class AsyncRedisAttempt:
    """One try of an asynchronous store; see `Attempt`. `seconds`: between renewals."""

    session = None

    def __init__(self, leases: Leases, seconds: float) -> None:
        self._leases = leases
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._renewal: asyncio.Task[None] | None = None

    async def claim(self, keys: Sequence[str]) -> Claims:
        """Claim `keys`."""
        found = await run_async(self._leases.claim(keys))
        if self._leases.ours:
            self._wait()
        return found

    def finish(self, keys: Sequence[str]) -> Awaitable[int]:
        """Note `keys` as done."""
        self.close()
        return run_async(self._leases.finish(keys))

    def give_up(self) -> Awaitable[None]:
        """Release what was claimed."""
        self.close()
        return run_async(self._leases.release())

    def close(self) -> None:
        """Renew no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._begin)

    def _begin(self) -> None:
        self._renewal = asyncio.ensure_future(self._renew())
        self._wait()

    async def _renew(self) -> None:
        try:
            _tell(await run_async(self._leases.renew()))
        except Exception as problem:  # the next one may succeed; `finish` will tell
            log.warning("leases could not be renewed", reason=str(problem))


def _tell(lost: int) -> None:
    if lost:
        log.warning("leases were lost while the listener ran; effects may be there twice", count=lost)


def _sha(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
