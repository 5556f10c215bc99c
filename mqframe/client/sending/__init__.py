"""Producers: the send pipeline, submitted batches, request-reply."""
