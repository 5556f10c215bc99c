"""Pulls, long polling, message filters, offsets and queue locks."""
