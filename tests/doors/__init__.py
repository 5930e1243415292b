"""One suite of behaviour for the three doors of the client: Deferreds, asyncio, blocking calls."""
