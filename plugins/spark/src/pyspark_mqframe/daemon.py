"""Spark's daemon of Python workers, for the setting `spark.python.daemon.module`.

Spark closes the socket of a worker as soon as it has what it wants: three rows for `show(3)`, a first one for
`isEmpty`. Workers of Spark's own daemon then print a traceback, though nothing failed; these end in silence.
"""

from __future__ import annotations

import socket

from pyspark import daemon

_work = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """The exit code of a worker that served `sock`; 1 where Spark closed it, which ends the worker."""
    try:
        return _work(sock, authenticated)
    except (BrokenPipeError, ConnectionResetError):
        return 1


def main() -> None:
    """Serve as the daemon, until Spark closes standard input."""
    daemon.worker = worker
    daemon.manager()


if __name__ == "__main__":
    main()
