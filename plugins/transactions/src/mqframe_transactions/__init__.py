"""Transactional messages: consumers get them once the transaction of their producer is committed.

Everything public is here, and imported when it is first used: a broker loads nothing of the producers, an
application nothing of the broker's part. The names of producers are those of `mqframe`, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mqframe.hooks.late_names import late_names

if TYPE_CHECKING:
    from mqframe.core.sending.transaction_outcome import TransactionOutcome as TransactionOutcome
    from mqframe_transactions.broker.service import TransactionService as TransactionService
    from mqframe_transactions.client.batch_producer import (
        AsyncBatchTransactionProducer as AsyncBatchTransactionProducer,
    )
    from mqframe_transactions.client.blocking_batch_producer import (
        BatchTransactionProducer as BatchTransactionProducer,
    )
    from mqframe_transactions.client.blocking_producer import TransactionProducer as TransactionProducer
    from mqframe_transactions.client.listener import HalfMessage as HalfMessage
    from mqframe_transactions.client.listener import TransactionListener as TransactionListener
    from mqframe_transactions.client.listener import TransactionSendResult as TransactionSendResult
    from mqframe_transactions.client.producer import AsyncTransactionProducer as AsyncTransactionProducer
    from mqframe_transactions.client.record import DatabaseOutcome as DatabaseOutcome
    from mqframe_transactions.client.sends import AsyncTransaction as AsyncTransaction
    from mqframe_transactions.client.sends import Transaction as Transaction
    from mqframe_transactions.rules.half_batch import EndStatus as EndStatus
    from mqframe_transactions.rules.half_batch import EndsUnfinished as EndsUnfinished
    from mqframe_transactions.rules.half_batch import PreparedHalf as PreparedHalf
    from mqframe_transactions.settings import TransactionSettings as TransactionSettings

_HOME = {
    name: module
    for module, names in {
        "mqframe.core.sending.transaction_outcome": "TransactionOutcome",
        "mqframe_transactions.broker.service": "TransactionService",
        "mqframe_transactions.client.batch_producer": "AsyncBatchTransactionProducer",
        "mqframe_transactions.client.blocking_batch_producer": "BatchTransactionProducer",
        "mqframe_transactions.client.blocking_producer": "TransactionProducer",
        "mqframe_transactions.client.listener": "HalfMessage TransactionListener TransactionSendResult",
        "mqframe_transactions.client.producer": "AsyncTransactionProducer",
        "mqframe_transactions.client.record": "DatabaseOutcome",
        "mqframe_transactions.client.sends": "AsyncTransaction Transaction",
        "mqframe_transactions.rules.half_batch": "EndStatus EndsUnfinished PreparedHalf",
        "mqframe_transactions.settings": "TransactionSettings",
    }.items()
    for name in names.split()
}

__getattr__, __dir__ = late_names(__name__, _HOME)
