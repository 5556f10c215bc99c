"""What the door does, without sockets and clocks."""
