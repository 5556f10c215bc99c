"""ReplicaAdmin: `AsyncReplicaAdmin` for plain threads.

Generated from mqframe_admin.client.replicas, not to be edited:
run `python tools/generate_sync_api.py`.
"""

from __future__ import annotations

import builtins

from mqframe_admin.client.blocking.subject import SyncSubject
from mqframe_admin.client.replicas import AsyncReplicaAdmin
from mqframe_admin.rules.replica import ForcedElection, LeadHanded, Replica, RoleChanged


class ReplicaAdmin(SyncSubject[AsyncReplicaAdmin]):
    """Masters and their slaves."""

    def list(self, broker: str | None = None) -> builtins.list[Replica]:
        """All brokers by name and id, or those of the name `broker`; masters before their slaves.

        One that does not answer says so in its `trouble`. Raises `FixError` when none is registered.
        """
        return self._call(self._client.list, broker)

    def demote(
        self,
        broker: str,
        broker_id: int,
        *,
        wait_seconds: float = 30.0,
        tables_seconds: float = 0.0,
        force: bool = False,
    ) -> RoleChanged:
        """Let the master of the name `broker` become a slave with the number `broker_id`, 1 or more.

        It takes no more messages, waits until a slave has its whole log, at most `wait_seconds`, and this
        returns when it is a slave; `ready` are those to promote. `tables_seconds`: for so long it waits
        before, while it takes messages, until slaves have copied tables, which ours need not. `force`:
        whatever stands against it. Raises `FixError` when no master is registered, `AnswerError`
        where the broker stays master, `GiveUpError` when it could not change.
        """
        return self._call(
            self._client.demote,
            broker,
            broker_id,
            wait_seconds=wait_seconds,
            tables_seconds=tables_seconds,
            force=force,
        )

    def promote(
        self, broker: str, broker_id: int, *, role: str = "ASYNC_MASTER", force: bool = False
    ) -> RoleChanged:
        """Let the slave of the name `broker` with the number `broker_id` become its master, in `role`.

        Only where there is no other master, none of the other brokers of that name has more of the log, and
        tables are copied; `force`: whatever stands against it, and `objections` say what that was. Returns
        when it is master. Raises as `demote`.
        """
        return self._call(self._client.promote, broker, broker_id, role=role, force=force)

    def force_election(self, broker: str, broker_id: int, *, accept_loss: bool = False) -> ForcedElection:
        """Have the follower `broker_id` of the elected group `broker` lead with what it has.

        For a group whose brokers in sync are gone for good: what was acknowledged, and is not in its log, is
        lost. Without `accept_loss` nothing is changed, and the answer says what that would be. Raises
        `FixError` when no such follower is registered, `AnswerError` where a leader is there, or force is not
        needed.
        """
        return self._call(self._client.force_election, broker, broker_id, accept_loss=accept_loss)

    def hand_over(self, broker: str, to: int = 0, *, wait_seconds: float = 5.0) -> LeadHanded:
        """Have the leader of the elected group `broker` give up the lead for broker `to`, 0: any in sync.

        It takes no messages until another one leads, and gives up once all that it has is confirmed, which
        may take `wait_seconds`. Returns when another one leads. Raises `FixError` where no leader is found,
        `AnswerError` where it leads on, and says why, `GiveUpError` where nobody leads for a long time.
        """
        return self._call(self._client.hand_over, broker, to, wait_seconds=wait_seconds)

    def log_range(self, address: str) -> tuple[int, int]:
        """Where the log of the broker at `address` begins and ends, bytes. Raises `BadAnswer`."""
        return self._call(self._client.log_range, address)

    def stored_record(self, address: str, offset: int) -> bytes | None:
        """What the broker at `address` stores as a record at log `offset`, bytes as they lie there.

        `None` where it finds none; bytes that are no record where none begins there.
        """
        return self._call(self._client.stored_record, address, offset)
