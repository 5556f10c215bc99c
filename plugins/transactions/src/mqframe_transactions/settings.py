"""The settings of the broker service `transactions`."""

from __future__ import annotations

from mqframe.core.config.settings import at_least, setting, settings


@settings("transactions")
class TransactionSettings:
    """How long messages wait for what their producer decides."""

    timeout_ms: int = setting(
        6000,
        doc="age at which a half message is checked first, ms",
        check=at_least(0),
        conf="transactionTimeOut",
        live=True,
        was="broker.transaction_timeout_ms",
    )
    check_max: int = setting(
        15,
        doc="a half message that was checked so often is discarded, count",
        check=at_least(1),
        conf="transactionCheckMax",
        live=True,
        was="broker.transaction_check_max",
    )
    check_interval_ms: int = setting(
        30_000,
        doc="how often half messages are checked, ms",
        check=at_least(10),
        conf="transactionCheckInterval",
        was="broker.transaction_check_interval_ms",
    )
    reject: bool = setting(
        False,
        doc="refuse transactional messages",
        conf="rejectTransactionMessage",
        live=True,
        was="broker.reject_transactions",
    )
