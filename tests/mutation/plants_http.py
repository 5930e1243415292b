"""Plants in the HTTP servers: their answers, and what they keep from peers."""

from .plant import Plant

_API, _ASKED = "http/api.py", ["tests.http.test_api"]

_CONFIG, _SHOWN = "config/fields.py", ["tests.test_secrets"]
_FILES, _MADE = "storage/files/filesystem.py", ["tests.storage.files.test_filesystem.PrivacyTests"]
_SESSIONS, _STORED = "metadata/embedded/sqlite_sessions.py", ["tests.metadata.embedded.test_sqlite_store"]

_ENDPOINTS = ["tests.bookie.lifecycle.test_endpoints"]
_CHANNEL, _BOUNDED = "http/channel.py", ["tests.http.test_channel"]
_PAGE, _SCRAPED = "http/metrics_page.py", ["tests.http.test_metrics_page"]

PLANTS = (
    Plant(
        "a recovery that could not copy a ledger is done", "http/autorecovery_api.py",
        "self.failure or self.failed", "self.failure", ["tests.http.test_autorecovery_api"],
        where="RunningOperation.progress",
    ),
    Plant(
        "nobody learns that no ledger names the recovered bookie", "http/autorecovery_api.py",
        "not operation.recovered + operation.failed", "False", ["tests.http.test_autorecovery_api"],
        where="AutorecoveryApi._copy",
    ),
    Plant(
        "an operation that has failed is behind one that runs", "http/autorecovery_api.py",
        "math.inf if each.ended is None else each.ended", "0", ["tests.http.test_autorecovery_api"],
        where="AutorecoveryApi._progress",
    ),
    Plant(
        "an operation that has ended is forgotten", "http/autorecovery_api.py",
        "self._keep(operation)", "del self.operations[operation.name]",
        ["tests.http.test_autorecovery_api"], where="AutorecoveryApi._ended",
    ),
    Plant(
        "a deleted ledger is two lines of the log", "http/cluster_api.py",
        'Route("DELETE", "/api/v1/ledger/delete", "deletes a ledger", parameters=(_LEDGER_ID,), refusals=(400, 404), '
        "action=Permission.DELETE, is_logged=True)",
        'Route("DELETE", "/api/v1/ledger/delete", "deletes a ledger", parameters=(_LEDGER_ID,), refusals=(400, 404), '
        "action=Permission.DELETE)", ["tests.http.test_cluster_api"], where="",
    ),
    Plant(
        "half a surrogate pair reaches a handler", _API,
        "json.dumps(value, ensure_ascii=False).encode()", "", _ASKED, where="ApiRequest.json",
    ),
    Plant(
        "a text that is no UTF-8 is not answered", _API,
        'answer.body.encode(errors="backslashreplace")', "answer.body.encode()", _ASKED, where="begin_answer",
    ),
    Plant(
        "of several values of a parameter one is taken", _API,
        "len(values) > 1 or name in parameters", "False", _ASKED, where="api_request_of",
    ),
    Plant(
        "a handler that was cancelled does not answer", _API,
        'return Answer("Service Unavailable", 503)', "failure.raiseException()", _ASKED, where="ApiPage._failed",
    ),
    Plant(
        "an answer is written to a peer that is gone", _API,
        "request.channel is None", "False", _ASKED, where="send_answer",
    ),
    Plant(
        "a configuration shows the credentials of a URI", _CONFIG,
        "without_credentials(text)", "text", _SHOWN, where="Field.shown",
    ),
    Plant(
        "a repr shows the credentials of a URI", _CONFIG,
        "partial(_represent, field)", "not secret", _SHOWN, where="setting",
    ),
    Plant(
        "a password with a slash is shown", "masking.py",
        'r"(?<=//)\\S*(?=@)"', 'r"(?<=//)[^/@]*(?=@)"', _SHOWN, where="",
    ),
    Plant(
        "everyone can read a new file", _FILES,
        "os.open(path, flags, PRIVATE_FILE)", "os.open(path, flags, 0o644)", _MADE, where="RealFileSystem.open",
    ),
    Plant(
        "everyone can list a new directory", _FILES,
        "os.mkdir(path, PRIVATE_DIRECTORY)", "os.mkdir(path)", _MADE, where="RealFileSystem.make_directories",
    ),
    Plant(
        "everyone can read an index", "storage/index/index_file.py",
        "make_private_file(path)", "pass", _MADE, where="connect",
    ),
    Plant(
        "everyone can read the passwords in a store", "metadata/embedded/sqlite_store.py",
        "make_private_file(self._path)", "pass", _STORED, where="SqliteStore.open",
    ),
    Plant(
        "everyone can list the sessions", _SESSIONS,
        "os.mkdir(path, _PRIVATE_DIRECTORY)", "os.mkdir(path)", _STORED, where="_make_folder",
    ),
    Plant(
        "a body is read however long it says it is", _CHANNEL,
        "self.length is not None and self.length > MAX_BODY", "False", _BOUNDED,
        where="BoundedChannel.allHeadersReceived",
    ),
    Plant(
        "a body in chunks has no end", _CHANNEL,
        "self.content.tell() + len(data) > MAX_BODY", "False", _BOUNDED, where="PlainRequest.handleContentChunk",
    ),
    Plant(
        "requests of a pipeline are answered in one turn", _CHANNEL,
        "self.site.enter(self)", "self.serve()", _BOUNDED, where="BoundedChannel.allContentReceived",
    ),
    Plant(
        "answers take all the time", _CHANNEL,
        "_REST * (now - began)", "0", _BOUNDED, where="BoundedSite._serve_one",
    ),
    Plant(
        "a peer that does not read is answered", _CHANNEL,
        "if not self._stuck: ...", "...", _BOUNDED, where="BoundedChannel.requestDone",
    ),
    Plant(
        "a peer that does not read its last answer stays", _CHANNEL,
        "self.setTimeout(_GRACE)", "pass", _BOUNDED, where="BoundedChannel.requestDone",
    ),
    Plant(
        "bytes behind a request come before those that were there", _CHANNEL,
        "self._held += held", "self._held = held + self._held", _BOUNDED, where="BoundedChannel.requestDone",
    ),
    Plant(
        "a byte now and then keeps a connection", _CHANNEL,
        "not self._begun and data", "data", _BOUNDED, where="BoundedChannel._parse",
    ),
    Plant(
        "connections have no limit", _CHANNEL,
        "len(self.channels) >= MAX_CONNECTIONS", "False", _BOUNDED, where="BoundedSite.buildProtocol",
    ),
    Plant(
        "a connection that is being answered is evicted", _CHANNEL,
        "self.phase in (AnswerPhase.READING, AnswerPhase.SENDING)", "True", _BOUNDED,
        where="BoundedChannel.evictable",
    ),
    Plant(
        "the connection that was used last is evicted", _CHANNEL,
        "self.site.served(self)", "", _BOUNDED, where="BoundedChannel.requestDone",
    ),
    Plant(
        "a client that has ended its sending side gets no answer", _CHANNEL,
        "self._limit_answer()", "self._close()", _BOUNDED, where="BoundedChannel.readConnectionLost",
    ),
    Plant(
        "a connection to which nothing more can come stays open", _CHANNEL,
        "self._close()", "pass", _BOUNDED, where="BoundedChannel._rein_in",
    ),
    Plant(
        "an answer to a client that may be gone has no limit", _CHANNEL,
        "self.setTimeout(REQUEST_TIME)", "pass", _BOUNDED, where="BoundedChannel._limit_answer",
    ),
    Plant(
        "all that arrives is parsed in one turn", _CHANNEL,
        "len(data) > _PIECE", "False", _BOUNDED, where="BoundedChannel._parse",
    ),
    Plant(
        "any site may be this one", _CHANNEL,
        "hosts and not self.channel.site.hosts.allow(hosts[0])",
        "False and not self.channel.site.hosts.allow(hosts[0])", _BOUNDED, where="PlainRequest.requestReceived",
    ),
    Plant(
        "connections outlive the server", _CHANNEL,
        "channel.end()", "pass", _BOUNDED, where="BoundedSite.stopFactory",
    ),
    Plant("a scrape is one turn", _PAGE, "now - began < _SLICE", "True", _SCRAPED, where="MetricsPage._proceed"),
    Plant("scrapes take all the time", _PAGE, "_REST * spent", "0", _SCRAPED, where="MetricsPage._end"),
    Plant(
        "a loopback of another machine is asked", "cli/bookie_servers.py",
        "is_loopback(endpoint.host)", "False", ["tests.cli.commands.test_limits"], where="server_url",
    ),
    Plant(
        "the HTTP server is open by default", "config/http.py",
        '"127.0.0.1"', '"0.0.0.0"', ["tests.bookie.lifecycle.test_endpoints"], where="HttpConfig",
    ),
    Plant(
        "metrics have a port beside the HTTP server", "config/bookie.py",
        "self.prometheus_stats_http_always or not self.http_server_enabled", "True",
        _ENDPOINTS, where="BookieConfig.serves_metrics_alone",
    ),
    Plant(
        "no metrics have a port beside the HTTP server", "config/bookie.py",
        "self.prometheus_stats_http_always or not self.http_server_enabled", "not self.http_server_enabled",
        _ENDPOINTS, where="BookieConfig.serves_metrics_alone",
    ),
    Plant(
        "the port of the metrics has all pages", "bookie/lifecycle/service.py",
        "self._make_metrics_site(self.admin)", "self._make_site(self.admin)", _ENDPOINTS,
        where="BookieService._serve_http",
    ),
    Plant(
        "metrics are served whatever the provider", "config/bookie.py",
        "self.enable_statistics and self.stats_provider_class.endswith(_PROMETHEUS)", "self.enable_statistics",
        _ENDPOINTS, where="BookieConfig.serves_metrics_alone",
    ),
    Plant(
        "a metrics port that is taken is reported without its key", "bookie/lifecycle/endpoints.py",
        "try: ...\nexcept CannotListenError as error: ...", "try: ...\nexcept LookupError as error: ...", _ENDPOINTS,
        where="listen_for_metrics",
    ),
    Plant(
        "a scrape by the name of a service is refused", "http/site.py",
        'HostNames(("*",))', "HostNames()", ["tests.http.test_site"], where="make_metrics_site",
    ),
)
