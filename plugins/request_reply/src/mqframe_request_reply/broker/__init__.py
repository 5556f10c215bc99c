"""The broker service `request_reply`: replies, handed to who waits for them."""
