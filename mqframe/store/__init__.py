"""Messages on disk: commit log, consume queues, index, flush, recovery, clean-up, dispatch (store.md)."""
