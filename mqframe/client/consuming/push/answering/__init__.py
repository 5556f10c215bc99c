"""What a push consumer does with requests: who waits for a reply, and who waits no longer."""
