import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.client.LedgerEntry;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.conf.ClientConfiguration;

/**
 * The Java client under load: "Measure URI MODE --option value ...". Prints a line MEASURE after the warm-up and one
 * JSON line at the end, as all generators of the benchmarks do.
 *
 * batch: reads a closed ledger by batch reads, a number of threads at a time.
 * tail: a writer at a fixed rate, and a reader that asks for the LAC and reads up to it; a latency is from an add to
 * the entry in the reader's hands.
 */
public class Measure {
    private static final byte[] PASSWORD = "pw".getBytes();
    private static final BookKeeper.DigestType DIGEST = BookKeeper.DigestType.CRC32C;
    private static final int MAX_BATCH_SIZE = 5 << 20;
    private static final long POLL_NS = 100_000;

    private final Map<String, Integer> options = new HashMap<>();
    private final String uri;
    private long[] latencies = new long[0];
    private final AtomicLong measured = new AtomicLong();

    private Measure(String[] arguments) {
        uri = arguments[0];
        for (int i = 2; i < arguments.length; i += 2) {
            options.put(arguments[i].substring(2), Integer.valueOf(arguments[i + 1]));
        }
    }

    public static void main(String[] arguments) throws Exception {
        Measure measure = new Measure(arguments);
        if (arguments[1].equals("batch")) {
            measure.batch();
        } else {
            measure.tail();
        }
        System.out.flush();
        // What hangs in a client must not keep the process.
        Runtime.getRuntime().halt(0);
    }

    private BookKeeper client() throws Exception {
        ClientConfiguration configuration = new ClientConfiguration();
        configuration.setMetadataServiceUri(uri);
        configuration.setUseV2WireProtocol(true);
        configuration.setBatchReadEnabled(true);
        return new BookKeeper(configuration);
    }

    private void begin(int results) {
        latencies = new long[results];
        measured.set(0);
    }

    private void took(long since) {
        int at = (int) measured.getAndIncrement();
        if (at < latencies.length) {
            latencies[at] = System.nanoTime() - since;
        }
    }

    private void report(long entries, long nanos) {
        int count = (int) Math.min(measured.get(), latencies.length);
        Arrays.sort(latencies, 0, count);
        System.out.printf("{\"entries\": %d, \"seconds\": %.6f, \"rate\": %.1f, \"p50_ms\": %.4f, \"p99_ms\": %.4f, \"errors\": 0}%n",
            entries, nanos / 1e9, entries / (nanos / 1e9), latencies[count / 2] / 1e6, latencies[count * 99 / 100] / 1e6);
    }

    private static void measure() {
        System.out.println("MEASURE");
        System.out.flush();
    }

    // ---- batch reads

    private void batch() throws Exception {
        LedgerHandle ledger = client().openLedger(options.get("ledger"), DIGEST, PASSWORD);
        readAll(ledger, options.get("warmup"));
        measure();
        long begun = System.nanoTime();
        long entries = readAll(ledger, options.get("count"));
        report(entries, System.nanoTime() - begun);
    }

    /** Every thread reads its part of so many entries, from the start again where the ledger ends. */
    private long readAll(LedgerHandle ledger, int entries) throws Exception {
        int threads = options.get("inflight");
        begin(entries);
        AtomicLong seen = new AtomicLong();
        CountDownLatch running = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            long from = (long) entries * i / threads;
            long to = (long) entries * (i + 1) / threads;
            new Thread(() -> {
                try {
                    seen.addAndGet(readPart(ledger, from, to));
                } catch (Throwable error) {
                    error.printStackTrace();
                    Runtime.getRuntime().halt(1);
                }
                running.countDown();
            }).start();
        }
        running.await();
        return seen.get();
    }

    private long readPart(LedgerHandle ledger, long from, long to) throws Exception {
        long total = ledger.getLastAddConfirmed() + 1;
        long bytes = 0;
        for (long next = from; next < to;) {
            long since = System.nanoTime();
            long most = Math.min(Math.min(options.get("batch"), to - next), total - next % total);
            Enumeration<LedgerEntry> entries = ledger.batchReadEntries(next % total, (int) most, MAX_BATCH_SIZE);
            while (entries.hasMoreElements()) {
                bytes += entries.nextElement().getEntry().length;
                next++;
            }
            took(since);
        }
        if (bytes != (to - from) * options.get("size")) {
            throw new IllegalStateException(bytes + " bytes of " + (to - from) + " entries");
        }
        return to - from;
    }

    // ---- tailing

    private void tail() throws Exception {
        LedgerHandle writer = client().createLedger(1, 1, 1, DIGEST, PASSWORD);
        LedgerHandle reader = client().openLedgerNoRecovery(writer.getId(), DIGEST, PASSWORD);
        CountDownLatch end = new CountDownLatch(1);
        new Thread(() -> {
            try {
                follow(reader);
            } catch (Throwable error) {
                error.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
            end.countDown();
        }).start();
        long begun = System.nanoTime();
        int size = options.get("size");
        for (long i = 0; end.getCount() > 0; i++) {
            LockSupport.parkNanos(begun + i * 1_000_000_000L / options.get("rate") - System.nanoTime());
            byte[] data = new byte[size];
            ByteBuffer.wrap(data).putLong(System.nanoTime());
            writer.asyncAddEntry(data, (rc, ledger, entryId, context) -> {
                if (rc != 0) {
                    Runtime.getRuntime().halt(1);
                }
            }, null);
        }
        end.await(1, TimeUnit.SECONDS);
    }

    private void follow(LedgerHandle reader) throws Exception {
        int warmup = options.get("warmup");
        int last = warmup + options.get("count");
        long begun = 0;
        for (int next = 0; next < last;) {
            long confirmed = Math.min(reader.tryReadLastConfirmed(), last - 1);
            if (confirmed < next) {
                LockSupport.parkNanos(POLL_NS);
                continue;
            }
            Enumeration<LedgerEntry> entries = reader.readEntries(next, Math.min(confirmed, next + 99));
            for (; entries.hasMoreElements(); next++) {
                byte[] data = entries.nextElement().getEntry();
                if (next == warmup) {
                    begin(last - warmup);
                    measure();
                    begun = System.nanoTime();
                }
                took(ByteBuffer.wrap(data).getLong());
            }
        }
        report(last - warmup, System.nanoTime() - begun);
    }
}
