"""The service: messages into the timer and out of it, recalls; what slaves and cut logs make of it."""
