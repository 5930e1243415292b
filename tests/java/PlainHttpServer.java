import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.bookkeeper.http.AbstractHttpHandlerFactory;
import org.apache.bookkeeper.http.HttpRouter;
import org.apache.bookkeeper.http.HttpServer;
import org.apache.bookkeeper.http.HttpServerConfiguration;
import org.apache.bookkeeper.http.HttpServiceProvider;
import org.apache.bookkeeper.http.service.HttpEndpointService;
import org.apache.bookkeeper.http.service.HttpServiceRequest;
import org.apache.bookkeeper.http.service.HttpServiceResponse;

/**
 * Serves the HTTP API of Apache's bookie by the JDK's server: "httpServerClass=PlainHttpServer". Apache's own servers
 * want jars that nothing else needs. Without parameters of the query, which what controls a garbage collection has not.
 */
public class PlainHttpServer implements HttpServer {
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    private HttpServiceProvider provider;
    private com.sun.net.httpserver.HttpServer server;

    @Override
    public void initialize(HttpServiceProvider services) {
        provider = services;
    }

    @Override
    public boolean startServer(int port) {
        return startServer(port, "127.0.0.1");
    }

    @Override
    public boolean startServer(int port, String host) {
        return startServer(port, "127.0.0.1", null);
    }

    /** Listens on loopback only, whatever the host. */
    @Override
    public boolean startServer(int port, String host, HttpServerConfiguration configuration) {
        try {
            server = com.sun.net.httpserver.HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        } catch (IOException failure) {
            return false;
        }
        new HttpRouter<HttpEndpointService>(new AbstractHttpHandlerFactory<>(provider) {
            @Override
            public HttpEndpointService newHandler(ApiType type) {
                return getHttpServiceProvider().provideHttpEndpointService(type);
            }
        }) {
            @Override
            public void bindHandler(String endpoint, HttpEndpointService service) {
                server.createContext(endpoint, exchange -> answer(exchange, service));
            }
        }.bindAll();
        server.setExecutor(thread);
        server.start();
        return true;
    }

    private static void answer(HttpExchange exchange, HttpEndpointService service) throws IOException {
        int status = 500;
        byte[] body;
        try (InputStream in = exchange.getRequestBody()) {
            String question = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            Method method = Method.valueOf(exchange.getRequestMethod());
            HttpServiceResponse response = service.handle(new HttpServiceRequest(question, method, Map.of()));
            status = response.getStatusCode();
            body = response.getBody() == null ? new byte[0] : response.getBody().getBytes(StandardCharsets.UTF_8);
        } catch (Exception failure) {
            body = failure.toString().getBytes(StandardCharsets.UTF_8);
        }
        exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
        try (OutputStream out = exchange.getResponseBody()) {
            out.write(body);
        }
    }

    @Override
    public void stopServer() {
        if (server != null) {
            server.stop(0);
        }
        thread.shutdown();
    }

    @Override
    public boolean isRunning() {
        return server != null;
    }
}
