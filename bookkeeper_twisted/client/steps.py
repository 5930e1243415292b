"""Asynchronous iterations taken in steps, for callers that cannot use ``async for`` over them."""

from collections.abc import AsyncIterator
from typing import TypeVar

T = TypeVar("T")


async def take(items: AsyncIterator[T], count: int) -> list[T]:
    """Take up to ``count`` more of an iteration; none at its end."""
    found: list[T] = []
    while len(found) < count:
        try:
            found.append(await anext(items))
        except StopAsyncIteration:
            break
    return found
