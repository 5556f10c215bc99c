"""What operators may see and change of a server, for who answers them."""
