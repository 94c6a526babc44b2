// Receives webhooks: verifies them, recognises repeats, and answers before it works.
//
// WEBHOOK_KEYS has the keys, whsec_…, separated by spaces: two while they are rotated. PORT is where it listens.
// With GONE=1 it wants no more webhooks, for good.

import { createServer } from "node:http";

import { Webhook } from "standardwebhooks";

const MAX_BYTES = 1 << 20;
const MAX_IDS = 100_000;

const webhooks = process.env.WEBHOOK_KEYS.split(" ").map((key) => new Webhook(key));
const seen = new Set();

// Whether one of our keys signed it, not more than five minutes ago.
function isGenuine(body, headers) {
  return webhooks.some((webhook) => {
    try {
      webhook.verify(body, headers, { jsonParse: false });
      return true;
    } catch {
      return false;
    }
  });
}

// In a service with a database: insert the id into a table, in the transaction that stores the message.
function isNew(message) {
  if (seen.has(message)) return false;
  seen.add(message);
  if (seen.size > MAX_IDS) seen.delete(seen.values().next().value);
  return true;
}

async function read(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > MAX_BYTES) return null;
    chunks.push(chunk);
  }
  // The bytes as they came: JSON that was read and written again is another text.
  return Buffer.concat(chunks);
}

async function receive(request) {
  const body = await read(request);
  if (body === null) return 413;
  if (process.env.GONE === "1") return 410;
  if (!isGenuine(body, request.headers)) return 401;
  const message = request.headers["webhook-id"];
  if (isNew(message)) setImmediate(() => console.log(`received ${message} ${body}`));
  return 204;
}

const server = createServer(async (request, response) => {
  try {
    response.writeHead(await receive(request)).end();
  } catch {
    response.destroy();
  }
});
server.listen(Number(process.env.PORT), "127.0.0.1", () => console.log("listening"));
