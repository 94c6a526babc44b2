import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Receives webhooks: verifies them, recognises repeats, and answers before it works.
 *
 * <p>WEBHOOK_KEYS has the keys, whsec_… or whpk_…, separated by spaces: two while they are rotated. PORT is where it
 * listens. With GONE=1 it wants no more webhooks, for good.
 */
public class Receive {
    static final int MAX_BYTES = 1 << 20;
    static final int MAX_IDS = 100_000;
    static final long TOLERANCE_SECONDS = 300;
    /** What stands before the 32 bytes of a public key for ed25519 in X.509. */
    static final byte[] X509 = HexFormat.of().parseHex("302a300506032b6570032100");

    interface Key {
        boolean signed(byte[] content, String version, byte[] signature) throws GeneralSecurityException;
    }

    static Key parse(String text) throws GeneralSecurityException {
        byte[] key = Base64.getDecoder().decode(text.substring(text.indexOf('_') + 1));
        if (text.startsWith("whsec_")) {
            return (content, version, signature) -> {
                Mac mac = Mac.getInstance("HmacSHA256");
                mac.init(new SecretKeySpec(key, "HmacSHA256"));
                return version.equals("v1") && MessageDigest.isEqual(mac.doFinal(content), signature);
            };
        }
        if (!text.startsWith("whpk_")) throw new IllegalArgumentException("a key begins with whsec_ or whpk_");
        PublicKey known = KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(join(X509, key)));
        return (content, version, signature) -> {
            if (!version.equals("v1a")) return false;
            Signature verifier = Signature.getInstance("Ed25519");
            verifier.initVerify(known);
            verifier.update(content);
            return verifier.verify(signature);
        };
    }

    static byte[] join(byte[] head, byte[] tail) {
        byte[] joined = java.util.Arrays.copyOf(head, head.length + tail.length);
        System.arraycopy(tail, 0, joined, head.length, tail.length);
        return joined;
    }

    static String header(HttpExchange exchange, String name) {
        String value = exchange.getRequestHeaders().getFirst(name);
        return value == null ? "" : value;
    }

    /** Whether one of our keys signed it, not more than five minutes ago. */
    static boolean isGenuine(List<Key> keys, HttpExchange exchange, byte[] body) {
        String id = header(exchange, "webhook-id");
        String timestamp = header(exchange, "webhook-timestamp");
        try {
            long age = Instant.now().getEpochSecond() - Long.parseLong(timestamp);
            if (id.isEmpty() || Math.abs(age) > TOLERANCE_SECONDS) return false;
        } catch (NumberFormatException error) {
            return false;
        }
        byte[] content = join((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8), body);
        for (String part : header(exchange, "webhook-signature").split(" ")) {
            String[] halves = part.split(",", 2);
            for (Key key : keys) {
                try {
                    if (key.signed(content, halves[0], Base64.getDecoder().decode(halves[1]))) return true;
                } catch (GeneralSecurityException | RuntimeException error) {
                    // It is no signature that we know.
                }
            }
        }
        return false;
    }

    public static void main(String[] arguments) throws Exception {
        List<Key> keys = new ArrayList<>();
        for (String text : System.getenv("WEBHOOK_KEYS").split(" ")) keys.add(parse(text));
        boolean isGone = "1".equals(System.getenv("GONE"));
        // In a service with a database: insert the id into a table, in the transaction that stores the message.
        Set<String> seen = Collections.synchronizedSet(Collections.newSetFromMap(new LinkedHashMap<>() {
            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
                return size() > MAX_IDS;
            }
        }));
        ExecutorService work = Executors.newSingleThreadExecutor();
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", exchange -> {
            // The bytes as they came: JSON that was read and written again is another text.
            byte[] body = exchange.getRequestBody().readNBytes(MAX_BYTES + 1);
            int status = 204;
            if (body.length > MAX_BYTES) {
                status = 413;
            } else if (isGone) {
                status = 410;
            } else if (!isGenuine(keys, exchange, body)) {
                status = 401;
            } else {
                String id = header(exchange, "webhook-id");
                String line = "received " + id + " " + new String(body, StandardCharsets.UTF_8);
                if (seen.add(id)) work.execute(() -> System.out.println(line));
            }
            answer(exchange, status);
        });
        server.start();
        System.out.println("listening");
    }

    static void answer(HttpExchange exchange, int status) throws IOException {
        exchange.sendResponseHeaders(status, -1);
        exchange.close();
    }
}
