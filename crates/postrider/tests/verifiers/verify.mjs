// Verifies requests with the packages of those whose schemes they follow; see verify.py.

import { createInterface } from "node:readline";

import { verify } from "@octokit/webhooks-methods";
import { ApiVersion, LogSeverity, shopifyApi } from "@shopify/shopify-api";
import "@shopify/shopify-api/adapters/node";
import { HTTP } from "cloudevents";
import { Webhook } from "svix";

async function isGenuine({ scheme, key, headers }, body) {
  switch (scheme) {
    case "github":
      return verify(key, body, headers["x-hub-signature-256"]);
    case "svix":
    case "standard-webhooks":
      try {
        new Webhook(key).verify(body, headers);
        return true;
      } catch {
        return false;
      }
    case "shopify": {
      const shopify = shopifyApi({
        apiKey: "app",
        apiSecretKey: key,
        apiVersion: Object.values(ApiVersion)[0],
        hostName: "shop.test",
        isEmbeddedApp: false,
        logger: { level: LogSeverity.Error },
      });
      const rawRequest = { method: "POST", url: "/", headers };
      return (await shopify.webhooks.validate({ rawBody: body, rawRequest })).valid;
    }
    default:
      throw new Error(scheme);
  }
}

function readEvent(headers, body) {
  const { data, data_base64, ...attributes } = HTTP.toEvent({ headers, body: body.toString("utf8") }).toJSON();
  if ("ce-id" in headers) {
    // The package leaves this to its callers.
    for (const name of Object.keys(attributes)) attributes[name] = decodeURIComponent(attributes[name]);
  }
  return { attributes, data: data_base64 ? { bytes: Buffer.from(data_base64, "base64").toString("hex") } : data };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const body = Buffer.from(request.body, "base64");
  const text = body.toString("utf8");
  const answer =
    request.scheme === "cloudevents"
      ? readEvent(request.headers, body)
      : { genuine: await isGenuine(request, text), changed: await isGenuine(request, `${text} `) };
  console.log(JSON.stringify(answer));
}
