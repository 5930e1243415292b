"""Flows on shared sockets, and calls at the doors of the client."""
