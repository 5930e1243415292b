"""Plants in the requests of ``bookkeeper-spark usage`` to HTTP servers of bookies."""

from .plant import Plant

_SPACE = "spark/pipelines/space.py"
_TESTS = "tests.spark.pipelines.test_space.SecuredLocationTests"

PLANTS = (
    Plant(
        "tasks ask the bookies' HTTP servers without the options", _SPACE,
        'used_in(row.directory, row.log_id, pace_of("usage", share).spend, security)',
        'used_in(row.directory, row.log_id, pace_of("usage", share).spend)',
        [f"{_TESTS}.test_plan"], where="usage",
    ),
    Plant(
        "the driver asks the bookies' HTTP servers without the options", _SPACE,
        "_asked(address + _PATH, security)", "_asked(address + _PATH, ())", [f"{_TESTS}.test_asked"],
        where="_logs_of_bookie",
    ),
    Plant(
        "tasks ask in clear where the location says https", _SPACE,
        'f"{url.scheme}://{url.netloc}{_PATH}?{query}"', 'f"http://{url.netloc}{_PATH}?{query}"',
        [f"{_TESTS}.test_asked"], where="used_in",
    ),
    Plant(
        "a refusal of the HTTP server is taken for a failure", _SPACE,
        "if status in _REFUSED: ...", "", [f"{_TESTS}.test_refused"], where="_asked",
    ),
    Plant(
        "requests over TLS wait for a reactor that does not run", "cli/http_requests.py",
        "TLSMemoryBIOFactory(self.creator, True, factory, self.clock)",
        "TLSMemoryBIOFactory(self.creator, True, factory)",
        [f"{_TESTS}.test_refused"], where="_Encrypted.connect",
    ),
)  # fmt: skip
