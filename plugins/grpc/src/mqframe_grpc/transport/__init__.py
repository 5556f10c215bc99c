"""gRPC over HTTP/2 for servers, without any rule of messages."""
