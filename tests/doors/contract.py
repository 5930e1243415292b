"""Every public call of the client with bad arguments, on closed objects, out of time and cancelled, through each door.

A call that is waited for fails when it is awaited (in plain calls: when it is made); a call that gives an iteration, or
a value at once, raises when it is made.  :meth:`DoorSuite.error_of` knows the difference.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from bookkeeper_twisted.client import ThreadAppender, WhenFull
from bookkeeper_twisted.errors import (
    ClientClosedError,
    IllegalOperationError,
    IncorrectParameterError,
    LedgerClosedError,
)

from .suite import DoorSuite, driven

INTEGERS = ("1", 1.5, None, b"1", -1, 1 << 64, True)
QUORUMS = (*INTEGERS, 0, 10**9)
OPTIONAL = ("1", 1.5, b"1", -2, 1 << 64, True)
SECONDS = ("5", b"5", -1, float("nan"), float("inf"), 10**30)
BYTES = ("text", None, 5, [b"a"])
FIELDS = ("tenant=acme", 5, [("a", "b")], {"a": 1}, {1: "a"}, {"a": b"b"})
METADATA = ("text", 5, {"key": "value"}, {1: b"value"}, {b"key": b"value"})

Bad = Mapping[str, Sequence[Any]]


@attrs.frozen
class Call:
    """A public call.

    :ivar good: arguments that can be used.
    :ivar bad: values of each parameter that cannot.
    :ivar slow: whether the call waits for bookies.
    """

    name: str
    good: Mapping[str, Any] = attrs.field(factory=dict)
    bad: Bad = attrs.field(factory=dict)
    slow: bool = False


_CREATE: Bad = {
    "ensemble_size": QUORUMS, "write_quorum": QUORUMS, "ack_quorum": QUORUMS, "password": (*BYTES, bytearray(b"x")),
    "digest_type": ("CRC64", 3, None, b"CRC32"), "custom_metadata": METADATA, "write_flags": (1, 17, "NONE", None),
    "logger_context": FIELDS,
}  # fmt: skip

CALLS: Mapping[str, Sequence[Call]] = {
    "BookKeeper": (
        Call("connect", {"uri": "memory:"}, {
            "uri": (b"memory:", None, 5), "config": ({}, "wireProtocol=v3"), "placement": ("random", object()),
            "metrics": (True, object()),
        }),
        Call("create_ledger", {}, _CREATE),
        Call("create_ledger_adv", {}, {"ledger_id": OPTIONAL, **_CREATE}),
        Call("open_ledger", {"ledger_id": 0}, {
            "ledger_id": INTEGERS, "password": BYTES[2:], "recover": ("no", None, 1), "logger_context": FIELDS,
        }),
        Call("delete_ledger", {"ledger_id": 99}, {"ledger_id": INTEGERS, "logger_context": FIELDS}),
        Call("ledger_metadata", {"ledger_id": 0}, {"ledger_id": INTEGERS}),
        Call("list_ledgers"),
        Call("close"),
    ),
    "LedgerWriter": (
        Call("append", {"data": b"x"}, {"data": BYTES}, slow=True),
        Call("append_many", {"payloads": [b"x"]}, {"payloads": (*BYTES[:3], b"x", [], ["x"], [b"x", None])}, slow=True),
        Call("appender", {}, {"when_full": ("block", None), "patience": SECONDS}),
        Call("force", slow=True),
        Call("close"),
    ),
    "AdvLedgerWriter": (
        Call("write", {"entry_id": 0, "data": b"x"}, {"entry_id": INTEGERS, "data": BYTES}, slow=True),
        Call("force"),
        Call("close"),
    ),
    "LedgerReader": (
        Call("read", {"first": 0, "last": 1}, {"first": INTEGERS, "last": INTEGERS}, slow=True),
        Call("read_entry", {"entry_id": 0}, {"entry_id": INTEGERS}, slow=True),
        Call("read_unconfirmed", {"first": 0, "last": 1}, {"first": INTEGERS, "last": INTEGERS}, slow=True),
        Call("read_batch", {"start": 0}, {
            "start": INTEGERS, "max_count": INTEGERS, "max_size": ("1", 1.5, None, 1 << 64)
        }, slow=True),
        Call("batches", {}, {"start": INTEGERS, "end": OPTIONAL}, slow=True),
        Call("entries", {}, {"start": INTEGERS, "end": OPTIONAL}, slow=True),
        Call("__aiter__"),
        Call("tail", {}, {"start": INTEGERS}, slow=True),
        Call("tail_batches", {}, {"start": INTEGERS}, slow=True),
        Call("read_last_add_confirmed", slow=True),
        Call("try_read_last_add_confirmed", slow=True),
        Call("read_last_add_confirmed_and_entry", {"entry_id": 0, "timeout": 1}, {
            "entry_id": INTEGERS, "timeout": (*SECONDS, None)
        }, slow=True),
        Call("close"),
    ),
}  # fmt: skip
"""The calls of each class."""


class ContractSuite(DoorSuite):
    """Behaviour of every call, for test cases."""

    assertIsInstance: Any
    assertLess: Any
    assertNotRegex: Any
    subTest: Any

    def connect(self, **arguments: Any) -> Any:
        """Begin to connect through the door."""
        raise NotImplementedError

    async def expire(self, call: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        """Make a call, or the first step of an iteration, that takes too long; check that the door says so."""
        raise NotImplementedError

    async def cancel(self, call: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
        """Make a call, or the first step of an iteration, and cancel it; check that it ends."""
        raise NotImplementedError

    async def objects(self, bk: Any) -> dict[str, Any]:
        """One object of each class, the reader of an open ledger with three entries that can be read."""
        ledger = await bk.create_ledger()
        await ledger.append_many([b"a", b"b", b"c"])
        await ledger.append(b"d")  # tells bookies that what is before it is confirmed
        reader = await bk.open_ledger(ledger.ledger_id, recover=False)
        return {
            "BookKeeper": bk, "LedgerWriter": ledger, "AdvLedgerWriter": await bk.create_ledger_adv(),
            "LedgerReader": reader,
        }  # fmt: skip

    @driven
    async def test_bad_arguments(self, _: Any, bk: Any) -> None:
        """Each bad argument is refused by the name of its parameter, and nothing comes of the call."""
        for kind, found in (await self.objects(bk)).items():
            before = repr(found)
            for call in CALLS[kind]:
                method = self.connect if call.name == "connect" else getattr(found, call.name, None)
                for name, values in call.bad.items():
                    for value in values:
                        with self.subTest(f"{kind}.{call.name}({name}={value!r})"):
                            arguments = {**call.good, name: value}
                            assert method is not None
                            error = await self.error_of(IncorrectParameterError, method, **arguments)
                            self.assertIn(name, str(error).partition(":")[0])
                            self.assertIn("wanted", str(error))
            self.assertEqual(repr(found), before)
        self.assertEqual([ledger_id async for ledger_id in bk.list_ledgers()], [0, 1])

    @driven
    async def test_sizes(self, _: Any, bk: Any) -> None:
        """Sizes and ids that do not fit each other are refused by name, and entries that fit no frame."""
        error = await self.error_of(IncorrectParameterError, bk.create_ledger, 2, 3, 3)
        self.assertIn("ensemble size >= write quorum", str(error))
        found = await self.objects(bk)
        error = await self.error_of(IncorrectParameterError, found["LedgerReader"].read, 2, 1)
        self.assertEqual(str(error), "last: 1 was given, an entry id that is not below first = 2 is wanted")
        for call in (found["LedgerWriter"].append, lambda data: found["AdvLedgerWriter"].write(0, data)):
            error = await self.error_of(IncorrectParameterError, call, bytes(6 << 20))
            self.assertIn(f"data: {6 << 20} bytes were given, at most ", str(error))

    @driven
    async def test_closed_handles(self, _: Any, bk: Any) -> None:
        """A closed handle refuses each call, and says why; so does its ``repr``.  Closing it again does nothing."""
        for kind, found in (await self.objects(bk)).items():
            if kind != "BookKeeper":
                await found.close()
                await self._refuses(kind, found, LedgerClosedError)

    @driven
    async def test_closed_client(self, cluster: Any, bk: Any) -> None:
        """A closed client refuses each call, and says why; what its handles wait for bookies for fails."""
        async with await cluster.connect() as other:
            found = await self.objects(other)
        await self._refuses("BookKeeper", other, ClientClosedError)
        for kind in ("LedgerWriter", "AdvLedgerWriter", "LedgerReader"):
            call = next(call for call in CALLS[kind] if call.slow)
            error = await self.error_of(ClientClosedError, getattr(found[kind], call.name), **call.good)
            self.assertIn("clos", str(error))

    async def _refuses(self, kind: str, found: Any, error_kind: type[Exception]) -> None:
        for call in CALLS[kind]:
            with self.subTest(f"{kind}.{call.name}"):
                if call.name == "close":
                    await found.close()
                elif call.name not in ("connect", "__aiter__"):
                    error = await self.error_of(error_kind, getattr(found, call.name), **call.good)
                    self.assertIn("close() was called", str(error))
        self.assertIn(": close() was called>", repr(found))

    @driven
    async def test_out_of_time(self, cluster: Any, bk: Any) -> None:
        """A call that takes too long ends with the error of the door, and its object goes on."""
        await self._interrupted(cluster, bk, self.expire)

    @driven
    async def test_cancelled(self, cluster: Any, bk: Any) -> None:
        """So does a call that is cancelled."""
        await self._interrupted(cluster, bk, self.cancel)

    async def _interrupted(self, cluster: Any, bk: Any, interrupt: Any) -> None:
        found = await self.objects(bk)
        for bookie_id in ("bookie-0", "bookie-1", "bookie-2", "bookie-3"):
            cluster.bookies[bookie_id].delay = 0.2
        for kind, each in found.items():
            for call in CALLS[kind]:
                if call.slow:
                    with self.subTest(f"{kind}.{call.name}"):
                        await interrupt(getattr(each, call.name), self._late(call, each))
        self.assertEqual(await found["AdvLedgerWriter"].write(1, b"y"), 1)
        self.assertEqual((await found["LedgerReader"].read_entry(2)).data, b"c")
        self.assertEqual(await found["LedgerWriter"].append(b"e"), 6)  # two were interrupted and are written
        await found["LedgerWriter"].close()

    def _late(self, call: Call, found: Any) -> dict[str, Any]:
        """Arguments with which a call has to ask bookies."""
        if call.name == "read_last_add_confirmed_and_entry":
            return {"entry_id": found.last_add_confirmed + 1, "timeout": 1}
        return dict(call.good)

    @driven
    async def test_representations(self, _: Any, bk: Any) -> None:
        """Each object says of which class it is, and shows no password."""
        async with await bk.create_ledger(password=b"sesame", custom_metadata={"n": b"1"}) as ledger:
            await ledger.append(b"x" * 1000)
            appender = ledger.appender()
        reader = await bk.open_ledger(ledger.ledger_id, b"sesame")
        batch = await reader.read_batch(0)
        entry = await reader.read_entry(0)
        for found, name in (
            (bk, "BookKeeper open"), (ledger, "LedgerWriter ledger 0"), (reader, "LedgerReader ledger 0"),
            (batch, "EntryBatch ledger 0"), (entry, "Entry(ledger_id=0"), (appender, "ThreadAppender ledger 0"),
            (await bk.ledger_metadata(0), "LedgerMetadata("),
        ):  # fmt: skip
            self.assertIn(name, repr(found))
            self.assertNotRegex(repr(found), "sesame|0x")
            self.assertLess(len(repr(found)), 500)

    @driven
    async def test_thread_appender(self, _: Any, bk: Any) -> None:
        """An appender is the same in each door: its positions, its refusals, its end."""
        ledger = await bk.create_ledger()
        appender: ThreadAppender = ledger.appender(WhenFull.CODE, patience=1)
        self.assertIsInstance(appender, ThreadAppender)
        offered = appender.offer(b"one")
        for call, bad in ((appender.offer, BYTES), (appender.claim, (*INTEGERS, 0, 6 << 20))):
            for value in bad:
                await self._refused(IncorrectParameterError, "wanted", call, value)
        for unclaimed in (appender.commit, appender.abort, lambda: appender.payload):
            await self._refused(IllegalOperationError, "claimed nothing", unclaimed)
        claimed = appender.claim(3)
        for again in (lambda: appender.claim(3), lambda: appender.offer(b"two")):
            await self._refused(IllegalOperationError, "claim of this thread is open", again)
        appender.payload[:] = b"two"
        self.assertEqual(appender.commit(), claimed)
        self.assertLess(offered, claimed)
        appender.claim(3)
        appender.abort()
        await ledger.close()
        self.assertEqual(ledger.last_add_confirmed, 1)
        self.assertIn("closed: LedgerClosedError: the writer of ledger 0 is closed: close() was called", repr(appender))
        await self._refused(LedgerClosedError, "close() was called", appender.offer, b"late")

    async def _refused(self, kind: type[Exception], text: str, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            call(*arguments)
        except kind as error:
            self.assertIn(text, str(error))
        else:
            raise AssertionError(f"no {kind.__name__} of {arguments}")
