import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;

/**
 * Places an order and tells others about it, in one transaction:
 *
 * <pre>JDBC_URL=jdbc:postgresql://… java -cp postgresql.jar Send.java 1 lamp</pre>
 */
public class Send {
    static long[] place(Connection connection, long order, String item) throws SQLException {
        // Use the JSON library of your application.
        String payload = "{\"order\": " + order + ", \"item\": \"" + item + "\"}";
        try (PreparedStatement insert = connection.prepareStatement(
                "insert into orders (id, item) values (?, ?) on conflict (id) do nothing")) {
            insert.setLong(1, order);
            insert.setString(2, item);
            insert.executeUpdate();
        }
        // Once for each order, however often this runs within 24 hours (idempotency_window).
        String key = "order " + order;
        long sent;
        // One endpoint.
        try (PreparedStatement send = connection.prepareStatement(
                "select postrider.send_with_options(?, ?::jsonb, p_idempotency_key => ?)")) {
            send.setString(1, "warehouse");
            send.setString(2, payload);
            send.setString(3, key);
            sent = id(send);
        }
        // All who subscribe to the event.
        try (PreparedStatement publish = connection.prepareStatement("""
                select postrider.publish(?, ?::jsonb,
                    p_idempotency_key => ?,
                    p_ordering_key => ?,
                    p_priority => ?,
                    p_headers => ?::jsonb,
                    p_expires_at => ?)""")) {
            publish.setString(1, "order.placed");
            publish.setString(2, payload);
            publish.setString(3, key);
            publish.setString(4, key);
            publish.setInt(5, 5);
            publish.setString(6, "{\"x-tenant\": \"acme\"}");
            publish.setObject(7, OffsetDateTime.now().plusHours(1));
            return new long[] {sent, id(publish)};
        }
    }

    static long id(PreparedStatement statement) throws SQLException {
        try (ResultSet result = statement.executeQuery()) {
            result.next();
            return result.getLong(1);
        }
    }

    public static void main(String[] arguments) throws SQLException {
        long order = Long.parseLong(arguments[0]);
        // Behind PgBouncer add prepareThreshold=0 to the address.
        try (Connection connection = DriverManager.getConnection(System.getenv("JDBC_URL"))) {
            connection.setAutoCommit(false);
            try {
                long[] ids = place(connection, order, arguments[1]);
                connection.commit();
                System.out.printf("order %d placed, messages %d and %d%n", order, ids[0], ids[1]);
            } catch (SQLException error) {
                connection.rollback();
                boolean isConflict = "23505".equals(error.getSQLState())
                    && error.getMessage().contains("Idempotency key");
                if (isConflict) {
                    System.err.printf("order %d was placed with another item%n", order);
                } else if ("53400".equals(error.getSQLState())) {
                    System.err.println("too many messages wait; try again later");
                } else {
                    throw error;
                }
                System.exit(1);
            }
        }
    }
}
