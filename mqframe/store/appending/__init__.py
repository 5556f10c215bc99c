"""Appending: records laid out in the log, then queues and index built from them."""
