//! A message with all that is known of it: what it holds, what became of it, and when what happened.

use serde_json::{Value, json};
use time::OffsetDateTime;
use tokio_postgres::Client;

use super::{Failure, Output, age, json_rows, json_rows_or};

const MESSAGE_STATUS: &str = include_str!("../../../../sql/queries/watch/message_status.sql");
const DETAILS: &str = include_str!("../../../../sql/queries/watch/message_details.sql");
const MASKED: &str = include_str!("../../../../sql/queries/watch/message_details_masked.sql");
const ATTEMPTS: &str = include_str!("../../../../sql/queries/watch/message_attempts.sql");

/// Shows a message.
pub async fn show(client: &Client, output: Output, id: i64) -> Result<(), Failure> {
    let deliveries = json_rows(client, MESSAGE_STATUS, &[&id]).await?;
    if deliveries.is_empty() {
        let text = format!("Message {id} is for no endpoint, or does not exist (any more)");
        return Err(Failure::Failed(text));
    }
    // One whose partition is gone is known by its dead letters alone.
    let details = json_rows_or(client, [DETAILS, MASKED], &[&id]).await?.into_iter().next();
    let mut story = details.unwrap_or_else(|| json!({ "id": id }));
    let attempts = match json_rows(client, ATTEMPTS, &[&id]).await {
        Err(Failure::Denied(_)) => None,
        other => Some(other?),
    };
    let timeline = timeline(&story, &deliveries, attempts.as_deref().unwrap_or_default());
    story["deliveries"] = deliveries.into();
    story["attempts"] = attempts.map_or(Value::Null, Value::from);
    story["timeline"] = timeline.into();
    output.report(&story, || text(output, &story));
    Ok(())
}

/// What happened, in the order in which it did.
fn timeline(message: &Value, deliveries: &[Value], attempts: &[Value]) -> Vec<Value> {
    let mut events: Vec<(OffsetDateTime, Value)> = Vec::new();
    let mut add = |at: &Value, endpoint: &Value, event: String| {
        if let Some(moment) = at.as_str().and_then(age::parse) {
            let row = json!({ "at": at, "endpoint_name": endpoint, "event": event });
            events.push((moment, row));
        }
    };
    add(&message["created_at"], &Value::Null, "sent".to_owned());
    if message["scheduled_at"] != message["created_at"] {
        add(&message["scheduled_at"], &Value::Null, "due".to_owned());
    }
    add(&message["expires_at"], &Value::Null, "expires".to_owned());
    for attempt in attempts {
        let text = |name: &str| attempt[name].as_str().unwrap_or_default().to_owned();
        let status = attempt["status"].as_i64().map(|status| format!(" (status {status})"));
        let error = attempt["error"].as_str().map(|error| format!(": {error}"));
        let event = format!(
            "attempt {}: {}{} after {} ms{}",
            attempt["attempt"],
            text("outcome"),
            status.unwrap_or_default(),
            attempt["duration_ms"],
            error.unwrap_or_default()
        );
        add(&attempt["started_at"], &attempt["endpoint_name"], event);
    }
    for delivery in deliveries {
        let endpoint = &delivery["endpoint_name"];
        let status = delivery["status"].as_str().unwrap_or_default();
        add(&delivery["completed_at"], endpoint, status.to_owned());
        add(&delivery["next_retry_at"], endpoint, "next attempt".to_owned());
    }
    // What happened at the same time stays in this order.
    events.sort_by_key(|(moment, _)| *moment);
    events.into_iter().map(|(_, event)| event).collect()
}

fn text(output: Output, story: &Value) -> String {
    let mut fields = story.clone();
    let members = fields.as_object_mut();
    let taken = |name: &str| members.as_ref().and_then(|members| members.get(name).cloned());
    let (payload, headers) = (taken("payload"), taken("headers"));
    let lists = ["deliveries", "attempts", "timeline"].map(taken);
    if let Some(members) = fields.as_object_mut() {
        for name in ["payload", "headers", "deliveries", "attempts", "timeline"] {
            members.remove(name);
        }
        members.retain(|_, value| !value.is_null());
    }
    let mut parts = vec![output.fields(&fields)];
    for (name, value) in [("Headers", headers), ("Payload", payload)] {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            let value = super::output::clean_lines(&format!("{value:#}"));
            parts.push(format!("{}\n{value}", output.heading(name)));
        }
    }
    let [deliveries, attempts, timeline] = lists.map(|list| match list {
        Some(Value::Array(rows)) => Some(rows),
        _ => None,
    });
    let columns =
        ["endpoint_name", "status", "retry_count", "next_retry_at", "completed_at", "last_error"];
    let deliveries = output.table(&deliveries.unwrap_or_default(), &columns);
    parts.push(format!("{}\n{deliveries}", output.heading("Deliveries")));
    let attempts = match attempts {
        None => "This role may not see them.".to_owned(),
        Some(rows) if rows.is_empty() => "None is on record.".to_owned(),
        Some(rows) => {
            let columns = ["endpoint_name", "attempt", "outcome", "status", "duration_ms", "error"];
            output.table(&rows, &columns)
        }
    };
    parts.push(format!("{}\n{attempts}", output.heading("Attempts")));
    let timeline = exact(timeline.unwrap_or_default());
    let timeline = output.table(&timeline, &["time", "event", "endpoint_name"]);
    parts.push(format!("{}\n{timeline}", output.heading("Time line")));
    parts.join("\n\n")
}

/// With times to the millisecond: here it is what they are for.
fn exact(mut events: Vec<Value>) -> Vec<Value> {
    for event in &mut events {
        let moment = event["at"].as_str().and_then(age::parse);
        event["time"] = moment.map(age::to_the_millisecond).into();
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_line_is_in_order() {
        let message = json!({
            "created_at": "2026-11-26T12:00:00+00:00", "scheduled_at": "2026-11-26T12:00:00+00:00",
            "expires_at": "2026-11-27T12:00:00+00:00"
        });
        let deliveries = [
            json!({"endpoint_name": "a", "status": "completed", "completed_at": "2026-11-26T14:00:09+02:00"}),
            json!({"endpoint_name": "b", "status": "pending", "next_retry_at": "2026-11-26T12:01:00+00:00"}),
        ];
        let attempts = [json!({
            "endpoint_name": "b", "attempt": 1, "started_at": "2026-11-26T12:00:10+00:00", "duration_ms": 12,
            "outcome": "unavailable", "status": 503, "error": "HTTP 503"
        })];
        let events = timeline(&message, &deliveries, &attempts);
        let said: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
        let expected = [
            "sent",
            "completed",
            "attempt 1: unavailable (status 503) after 12 ms: HTTP 503",
            "next attempt",
            "expires",
        ];
        assert_eq!(said, expected);
        assert_eq!(events[1]["endpoint_name"], "a");
        assert_eq!(exact(events)[1]["time"], "2026-11-26 12:00:09.000Z");
    }
}
