import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.BookKeeperAdmin;
import org.apache.bookkeeper.client.RackawareEnsemblePlacementPolicy;
import org.apache.bookkeeper.client.LedgerEntry;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.client.api.LastConfirmedAndEntry;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.conf.ClientConfiguration;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.net.BookieId;
import org.apache.bookkeeper.replication.AuditorElector;
import org.apache.bookkeeper.replication.ReplicationWorker;

/**
 * The Java client, driven line by line: each line of stdin is a JSON object with a "verb" and its arguments, each line
 * of stdout the JSON object that answers it. An answer with "error" names the exception. Ends with its stdin.
 *
 * Entries have payloads that follow from their ids, so that whoever reads knows what was written; see payload.
 */
public class Interop {
    private static final int LARGEST = 1500;
    private static final long PATIENCE_MS = 30_000;

    private final ObjectMapper json = new ObjectMapper();
    private final String uri;
    private final Map<String, BookKeeper> clients = new HashMap<>();
    private final Map<Long, LedgerHandle> writers = new HashMap<>();
    private final Map<Long, CompletableFuture<Map<String, Object>>> tails = new HashMap<>();
    private AuditorElector elector;
    private ReplicationWorker worker;

    /** Ledgers go to the bookies that their custom metadata name, so that a test can choose them. */
    public static class NamedBookies extends RackawareEnsemblePlacementPolicy {
        private volatile Set<BookieId> writable = Set.of();

        @Override
        public Set<BookieId> onClusterChanged(Set<BookieId> writable, Set<BookieId> readOnly) {
            this.writable = Set.copyOf(writable);
            return super.onClusterChanged(writable, readOnly);
        }

        @Override
        public PlacementResult<List<BookieId>> newEnsemble(int size, int writeQuorum, int ackQuorum,
                Map<String, byte[]> custom, Set<BookieId> excluded) throws BKException.BKNotEnoughBookiesException {
            Set<BookieId> others = new HashSet<>(writable);
            for (String name : new String(custom.get("bookies")).split(",")) {
                others.remove(BookieId.parse(name));
            }
            others.addAll(excluded);
            return super.newEnsemble(size, writeQuorum, ackQuorum, custom, others);
        }
    }

    /** What the entry of an id holds. */
    static byte[] payload(long entryId) {
        byte[] data = new byte[(int) (entryId * 97 % LARGEST)];
        for (int i = 0; i < data.length; i++) {
            data[i] = (byte) (entryId * 31 + i);
        }
        return data;
    }

    private Interop(String uri) {
        this.uri = uri;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        Interop interop = new Interop(arguments[0]);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = requests.readLine()) != null;) {
            answers.println(interop.json.writeValueAsString(interop.answer(line)));
            answers.flush();
        }
        // What hangs in a client must not keep the process.
        Runtime.getRuntime().halt(0);
    }

    private Map<String, Object> answer(String line) {
        try {
            return run(json.readTree(line));
        } catch (ExecutionException error) {
            return failure(error.getCause());
        } catch (Throwable error) {
            return failure(error);
        }
    }

    private static Map<String, Object> failure(Throwable error) {
        if (!(error instanceof BKException)) {
            error.printStackTrace();
        }
        return Map.of("error", error.getClass().getSimpleName(), "message", String.valueOf(error.getMessage()));
    }

    private Map<String, Object> run(JsonNode request) throws Exception {
        switch (request.get("verb").asText()) {
            case "create":
                return create(request);
            case "append":
                return append(request);
            case "close":
                writers.remove(request.get("ledger").asLong()).close();
                return Map.of();
            case "forget":
                writers.remove(request.get("ledger").asLong());
                return Map.of();
            case "read":
                return read(request, open(request));
            case "tail":
                return tail(request);
            case "tailed":
                return tails.remove(request.get("ledger").asLong()).get(PATIENCE_MS, TimeUnit.MILLISECONDS);
            case "delete":
                client(request).deleteLedger(request.get("ledger").asLong());
                return Map.of();
            case "metadata":
                return metadata(request);
            case "await":
                return await(request);
            case "initialize":
                return initialize();
            case "startAuditor":
                return startAuditor(request);
            case "startWorker":
                return startWorker();
            case "stopRecovery":
                return stopRecovery();
            default:
                throw new IllegalArgumentException(request.toString());
        }
    }

    // ---- clients

    /** One client for each name and each version of the wire protocol. */
    private BookKeeper client(JsonNode request) throws Exception {
        int wire = request.get("wire").asInt();
        String key = request.get("client").asText() + wire;
        BookKeeper known = clients.get(key);
        if (known == null) {
            ClientConfiguration configuration = new ClientConfiguration();
            configuration.setMetadataServiceUri(uri);
            configuration.setUseV2WireProtocol(wire == 2);
            configuration.setBatchReadEnabled(true);
            configuration.setEnsemblePlacementPolicy(NamedBookies.class);
            configuration.setNumIOThreads(1);
            configuration.setNumWorkerThreads(1);
            configuration.setNumChannelsPerBookie(1);
            known = new BookKeeper(configuration);
            clients.put(key, known);
        }
        return known;
    }

    private static BookKeeper.DigestType digest(JsonNode request) {
        return BookKeeper.DigestType.valueOf(request.get("digest").asText());
    }

    private static byte[] password(JsonNode request) {
        return request.get("password").asText().getBytes();
    }

    private LedgerHandle open(JsonNode request) throws Exception {
        BookKeeper client = client(request);
        long ledger = request.get("ledger").asLong();
        return request.get("recover").asBoolean()
            ? client.openLedger(ledger, digest(request), password(request))
            : client.openLedgerNoRecovery(ledger, digest(request), password(request));
    }

    // ---- writing

    private Map<String, Object> create(JsonNode request) throws Exception {
        Map<String, byte[]> custom = Map.of("bookies", request.get("bookies").asText().getBytes());
        LedgerHandle writer = client(request).createLedger(request.get("ensemble").asInt(),
            request.get("writeQuorum").asInt(), request.get("ackQuorum").asInt(), digest(request), password(request), custom);
        writers.put(writer.getId(), writer);
        return Map.of("ledger", writer.getId());
    }

    private Map<String, Object> append(JsonNode request) throws Exception {
        LedgerHandle writer = writers.get(request.get("ledger").asLong());
        List<CompletableFuture<Long>> added = new ArrayList<>();
        long first = writer.getLastAddPushed() + 1;
        for (int i = 0; i < request.get("count").asInt(); i++) {
            CompletableFuture<Long> one = new CompletableFuture<>();
            writer.asyncAddEntry(payload(first + i), (rc, handle, entryId, context) -> {
                if (rc == BKException.Code.OK) {
                    one.complete(entryId);
                } else {
                    one.completeExceptionally(BKException.create(rc));
                }
            }, null);
            added.add(one);
        }
        long last = -1;
        for (CompletableFuture<Long> one : added) {
            last = waitFor(one);
        }
        return Map.of("last", last);
    }

    private static <T> T waitFor(CompletableFuture<T> future) throws Exception {
        return future.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
    }

    // ---- reading

    private static void verify(long entryId, byte[] data) {
        if (!java.util.Arrays.equals(data, payload(entryId))) {
            throw new IllegalStateException("entry " + entryId + " is not what was written");
        }
    }

    /** All entries in chunks; with "batch" by batch reads. */
    private Map<String, Object> read(JsonNode request, LedgerHandle reader) throws Exception {
        int batch = request.get("batch").asInt();
        long next = 0;
        long last = reader.getLastAddConfirmed();
        int calls = 0;
        while (next <= last) {
            Enumeration<LedgerEntry> entries =
                batch > 0 ? reader.batchReadEntries(next, batch, 1 << 20) : reader.readEntries(next, Math.min(last, next + 99));
            calls++;
            while (entries.hasMoreElements()) {
                LedgerEntry entry = entries.nextElement();
                if (entry.getEntryId() != next) {
                    throw new IllegalStateException("entry " + entry.getEntryId() + " instead of " + next);
                }
                verify(next++, entry.getEntry());
            }
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("last", last);
        answer.put("length", reader.getLength());
        answer.put("closed", reader.isClosed());
        answer.put("calls", calls);
        reader.close();
        return answer;
    }

    /** Begins to follow a ledger that is being written, until it is closed. */
    private Map<String, Object> tail(JsonNode request) throws Exception {
        LedgerHandle reader = open(request);
        boolean longPoll = request.get("wire").asInt() == 3;
        CompletableFuture<Map<String, Object>> end = new CompletableFuture<>();
        tails.put(reader.getId(), end);
        Thread thread = new Thread(() -> {
            try {
                end.complete(follow(reader, longPoll));
            } catch (Throwable error) {
                end.complete(failure(error));
            }
        });
        thread.setDaemon(true);
        thread.start();
        return Map.of();
    }

    private static Map<String, Object> follow(LedgerHandle reader, boolean longPoll) throws Exception {
        long next = 0;
        long limit = System.currentTimeMillis() + PATIENCE_MS;
        while (!reader.isClosed() || next <= reader.getLastAddConfirmed()) {
            if (System.currentTimeMillis() > limit) {
                throw new IllegalStateException("the tail never ended; next would be entry " + next);
            }
            if (next <= reader.getLastAddConfirmed()) {
                verify(next, reader.readEntries(next, next).nextElement().getEntry());
                next++;
            } else if (longPoll) {
                LastConfirmedAndEntry found = waitFor(reader.readLastAddConfirmedAndEntryAsync(next, 500, false));
                if (found.hasEntry()) {
                    verify(found.getEntry().getEntryId(), found.getEntry().getEntryBytes());
                    next = found.getEntry().getEntryId() + 1;
                }
                found.close();
            } else {
                reader.readLastConfirmed();
                Thread.sleep(10);
            }
        }
        reader.close();
        return Map.of("last", next - 1);
    }

    // ---- autorecovery

    private ServerConfiguration recoveryConfiguration() {
        ServerConfiguration configuration = new ServerConfiguration();
        configuration.setMetadataServiceUri(uri);
        configuration.setZkTimeout(4000);
        configuration.setOpenLedgerRereplicationGracePeriod("500");
        configuration.setRwRereplicateBackoffMs(200);
        // A failed repair is begun again after 1/32 of this, which doubles with each failure.  With the default of
        // five minutes, a ledger whose repair failed four times would take longer than a test may.
        configuration.setLockReleaseOfFailedLedgerGracePeriod("6400");
        return configuration;
    }

    /** Stands for the office of the auditor. */
    private Map<String, Object> startAuditor(JsonNode request) throws Exception {
        elector = new AuditorElector(request.get("bookie").asText(), recoveryConfiguration());
        elector.start();
        return Map.of();
    }

    private Map<String, Object> startWorker() throws Exception {
        worker = new ReplicationWorker(recoveryConfiguration());
        worker.start();
        return Map.of();
    }

    /** Ends auditor and worker, as far as there are any. */
    private Map<String, Object> stopRecovery() throws Exception {
        if (worker != null) {
            worker.shutdown();
            worker = null;
        }
        if (elector != null) {
            elector.shutdown();
            elector = null;
        }
        return Map.of();
    }

    // ---- metadata

    /** Waits until as many bookies are writable as should be. */
    private Map<String, Object> await(JsonNode request) throws Exception {
        int count = request.get("count").asInt();
        CompletableFuture<Void> there = new CompletableFuture<>();
        client(request).getMetadataClientDriver().getRegistrationClient().watchWritableBookies(bookies -> {
            if (bookies.getValue().size() >= count) {
                there.complete(null);
            }
        });
        waitFor(there);
        return Map.of();
    }

    private Map<String, Object> metadata(JsonNode request) throws Exception {
        LedgerMetadata stored = client(request).getLedgerManager()
            .readLedgerMetadata(request.get("ledger").asLong()).get(PATIENCE_MS, TimeUnit.MILLISECONDS).getValue();
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("state", stored.getState().name());
        answer.put("ensemble", stored.getEnsembleSize());
        answer.put("writeQuorum", stored.getWriteQuorumSize());
        answer.put("ackQuorum", stored.getAckQuorumSize());
        answer.put("digest", stored.getDigestType().name());
        answer.put("last", stored.isClosed() ? stored.getLastEntryId() : -1);
        answer.put("length", stored.isClosed() ? stored.getLength() : -1);
        answer.put("segments", stored.getAllEnsembles().size());
        answer.put("bookies", new String(stored.getCustomMetadata().getOrDefault("bookies", new byte[0])));
        answer.put("format", stored.getMetadataFormatVersion());
        return answer;
    }

    /** Makes an empty cluster. */
    private Map<String, Object> initialize() throws Exception {
        ServerConfiguration configuration = new ServerConfiguration();
        configuration.setMetadataServiceUri(uri);
        return Map.of("made", BookKeeperAdmin.initNewCluster(configuration));
    }
}
