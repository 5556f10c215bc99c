"""Rules of producers: encoding, batching, choice of queue, retries, limits in flight, request-reply."""
