"""What strangers have learned from the door's answers, and of others: it is handed back, as it is or bent."""

from __future__ import annotations

from collections import defaultdict, deque
from random import Random
from typing import Any, Final

from fuzz import values

KEPT: Final = 12
"""How many values of each kind are remembered: few, so that memory stays flat."""


class Learned:
    """Values by what they are: "handle", "message", "transaction", "recall", "nonce", and those of others.

    `deliveries`: topic, message id and handle of what was received; `others`: of what others have received.
    """

    def __init__(self) -> None:
        self.deliveries: deque[tuple[str, str, str]] = deque(maxlen=KEPT)
        self.others: deque[tuple[str, str, str]] = deque(maxlen=KEPT)
        self._values: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=KEPT))

    def note(self, kind: str, value: str) -> None:
        """Remember one."""
        if value:
            self._values[kind].append(value)

    def learn(self, answer: Any) -> None:
        """Remember what an answer says."""
        named = {field.name for field, _ in answer.ListFields()}
        if "message" in named:
            said = answer.message.system_properties
            self.note("handle", said.receipt_handle)
            self.note("message", said.message_id)
            if said.receipt_handle:
                self.deliveries.append((answer.message.topic.name, said.message_id, said.receipt_handle))
        if "receipt_handle" in named:
            self.note("handle", answer.receipt_handle)
        for entry in answer.entries if "entries" in named else ():
            if hasattr(entry, "recall_handle"):
                self.note("message", entry.message_id)
                self.note("transaction", entry.transaction_id)
                self.note("recall", entry.recall_handle)
        if "recover_orphaned_transaction_command" in named:
            self.note("transaction", answer.recover_orphaned_transaction_command.transaction_id)
        for name in ("print_thread_stack_trace_command", "verify_message_command"):
            if name in named:
                self.note("nonce", getattr(answer, name).nonce)

    def some(self, chance: Random, kind: str, odd: float = 0.3) -> str:
        """A value of this kind, or with a chance of `odd` one that is not quite one."""
        known = [*self._values.get(kind, ()), *(self._values.get(f"others' {kind}", ()))]
        if not known or values.flip(chance, odd * 0.3):
            return values.text(chance)
        value = chance.choice(known)
        if not values.flip(chance, odd):
            return value
        words = value.split(" ")
        at = chance.randrange(len(words))
        words[at] = chance.choice((values.number_text(chance), words[chance.randrange(len(words))], "", "0"))
        place = chance.randrange(len(value))
        return chance.choice(
            (
                " ".join(words),
                value[:place],
                value[:place] + chance.choice("\x00 ü0") + value[place + 1 :],
                value + " 1",
                value * 2,
                value.upper(),
                value.swapcase(),
            )
        )
