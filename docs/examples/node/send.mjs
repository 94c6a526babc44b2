// Places an order and tells others about it, in one transaction:
//
//     DATABASE_URL=postgres://… node send.mjs 1 lamp

import pg from "pg";

async function place(client, order, item) {
  const payload = JSON.stringify({ order, item });
  await client.query("begin");
  try {
    await client.query(
      "insert into orders (id, item) values ($1, $2) on conflict (id) do nothing",
      [order, item],
    );
    // Once for each order, however often this runs within 24 hours (idempotency_window).
    const key = `order ${order}`;
    // One endpoint.
    const sent = await client.query(
      "select postrider.send_with_options($1, $2, p_idempotency_key => $3) as id",
      ["warehouse", payload, key],
    );
    // All who subscribe to the event.
    const published = await client.query(
      `select postrider.publish($1, $2,
          p_idempotency_key => $3,
          p_ordering_key => $4,
          p_priority => $5,
          p_headers => $6,
          p_expires_at => $7) as id`,
      [
        "order.placed",
        payload,
        key,
        key,
        5,
        JSON.stringify({ "x-tenant": "acme" }),
        new Date(Date.now() + 3_600_000),
      ],
    );
    await client.query("commit");
    // Ids are bigint, which pg returns as text.
    return [sent.rows[0].id, published.rows[0].id];
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

const [order, item] = process.argv.slice(2);
const client = new pg.Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
try {
  const [sent, published] = await place(client, Number(order), item);
  console.log(`order ${order} placed, messages ${sent} and ${published}`);
} catch (error) {
  process.exitCode = 1;
  // A unique constraint of your own has a name.
  if (error.code === "23505" && error.constraint === undefined) {
    console.error(`order ${order} was placed with another item`);
  } else if (error.code === "53400") {
    console.error("too many messages wait; try again later");
  } else {
    throw error;
  }
} finally {
  await client.end();
}
