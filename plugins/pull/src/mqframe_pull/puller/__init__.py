"""Plain pulls of one queue: no group membership, no prefetch."""
