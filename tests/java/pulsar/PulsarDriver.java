import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.LedgerMetadataBuilder;
import org.apache.bookkeeper.client.api.DigestType;
import org.apache.bookkeeper.client.api.LedgerMetadata;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.bookkeeper.discover.BookieServiceInfo;
import org.apache.bookkeeper.discover.RegistrationManager;
import org.apache.bookkeeper.meta.LedgerAuditorManager;
import org.apache.bookkeeper.meta.LedgerIdGenerator;
import org.apache.bookkeeper.meta.LedgerManager;
import org.apache.bookkeeper.meta.LedgerManagerFactory;
import org.apache.bookkeeper.meta.LedgerUnderreplicationManager;
import org.apache.bookkeeper.meta.UnderreplicatedLedger;
import org.apache.bookkeeper.net.BookieId;
import org.apache.bookkeeper.stats.NullStatsLogger;
import org.apache.pulsar.metadata.bookkeeper.PulsarMetadataBookieDriver;

/**
 * Pulsar's metadata driver of a bookie, driven line by line: each line of stdin is a JSON object with a "verb" and its
 * arguments, each line of stdout the JSON object that answers it. Ends with its stdin.
 */
public class PulsarDriver {
    private static final long PATIENCE_S = 30;

    private final ObjectMapper json = new ObjectMapper();
    private final CompletableFuture<Void> elected = new CompletableFuture<>();
    private final LedgerManagerFactory factory;
    private final RegistrationManager registration;
    private final LedgerManager ledgers;
    private final LedgerIdGenerator ids;
    private final LedgerAuditorManager auditor;
    private LedgerUnderreplicationManager marks;

    private PulsarDriver(String uri) throws Exception {
        ServerConfiguration conf = new ServerConfiguration();
        conf.setMetadataServiceUri(uri);
        conf.setZkTimeout(2000);
        PulsarMetadataBookieDriver driver = new PulsarMetadataBookieDriver();
        driver.initialize(conf, NullStatsLogger.INSTANCE);
        factory = driver.getLedgerManagerFactory();
        registration = driver.createRegistrationManager();
        ledgers = factory.newLedgerManager();
        ids = factory.newLedgerIdGenerator();
        auditor = factory.newLedgerAuditorManager();
    }

    public static void main(String[] args) throws Exception {
        PulsarDriver driver = new PulsarDriver(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(driver.answer(line));
            System.out.flush();
        }
        System.exit(0);
    }

    private String answer(String line) throws Exception {
        try {
            return json.writeValueAsString(answer(json.readTree(line)));
        } catch (Exception e) {
            e.printStackTrace();
            return json.writeValueAsString(Map.of("error", e.getClass().getSimpleName(), "message", "" + e));
        }
    }

    private Map<String, Object> answer(JsonNode request) throws Exception {
        switch (request.get("verb").asText()) {
            case "initialize":
                return Map.of("made", registration.initNewCluster());
            case "register":
                return register(request.get("bookie").asText());
            case "create":
                return create(request.get("bookie").asText());
            case "read":
                return read(request.get("ledger").asLong());
            case "mark":
                underreplication().markLedgerUnderreplicated(
                        request.get("ledger").asLong(), request.get("bookie").asText());
                return Map.of();
            case "poll":
                return Map.of("ledger", underreplication().pollLedgerToRereplicate());
            case "marks":
                return Map.of("ledgers", marked());
            case "switch":
                return Map.of("enabled", underreplication().isLedgerReplicationEnabled());
            case "stand":
                return stand(request.get("bookie").asText());
            case "elected":
                elected.get(PATIENCE_S, TimeUnit.SECONDS);
                return Map.of();
            case "auditor":
                return Map.of("bookie", "" + auditor.getCurrentAuditor(), "elected", elected.isDone());
            default:
                throw new IllegalArgumentException(request.toString());
        }
    }

    private Map<String, Object> register(String bookie) throws Exception {
        BookieServiceInfo.Endpoint endpoint =
                new BookieServiceInfo.Endpoint("bookie", 3181, "10.0.0.9", "bookie-rpc", List.of(), List.of());
        registration.registerBookie(BookieId.parse(bookie), false, new BookieServiceInfo(Map.of(), List.of(endpoint)));
        return Map.of();
    }

    private Map<String, Object> create(String bookie) throws Exception {
        CompletableFuture<Long> drawn = new CompletableFuture<>();
        ids.generateLedgerId((rc, id) -> {
            if (rc == BKException.Code.OK) {
                drawn.complete(id);
            } else {
                drawn.completeExceptionally(BKException.create(rc));
            }
        });
        long id = drawn.get(PATIENCE_S, TimeUnit.SECONDS);
        LedgerMetadata metadata = LedgerMetadataBuilder.create().withId(id)
                .withEnsembleSize(1).withWriteQuorumSize(1).withAckQuorumSize(1)
                .withDigestType(DigestType.CRC32C).withPassword("secret".getBytes())
                .newEnsembleEntry(0, List.of(BookieId.parse(bookie))).build();
        ledgers.createLedgerMetadata(id, metadata).get(PATIENCE_S, TimeUnit.SECONDS);
        return Map.of("ledger", id);
    }

    private Map<String, Object> read(long ledger) throws Exception {
        LedgerMetadata metadata = ledgers.readLedgerMetadata(ledger).get(PATIENCE_S, TimeUnit.SECONDS).getValue();
        List<String> bookies = new ArrayList<>();
        metadata.getAllEnsembles().get(0L).forEach(bookie -> bookies.add(bookie.toString()));
        return Map.of("bookies", bookies, "password", new String(metadata.getPassword()));
    }

    private Map<String, Object> stand(String bookie) {
        Thread thread = new Thread(() -> {
            try {
                auditor.tryToBecomeAuditor(bookie, event -> { });
                elected.complete(null);
            } catch (Exception e) {
                elected.completeExceptionally(e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return Map.of();
    }

    private TreeSet<Long> marked() throws Exception {
        TreeSet<Long> found = new TreeSet<>();
        Iterator<UnderreplicatedLedger> all = underreplication().listLedgersToRereplicate(null);
        while (all.hasNext()) {
            found.add(all.next().getLedgerId());
        }
        return found;
    }

    private LedgerUnderreplicationManager underreplication() throws Exception {
        if (marks == null) {
            marks = factory.newLedgerUnderreplicationManager();
        }
        return marks;
    }
}
