//! Sending and publishing.

use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};
use tokio_postgres::Row;
use utoipa::ToSchema;
use uuid::Uuid;

use super::{
    Api,
    answer::Json,
    idempotency::Idempotency,
    pool::{Parameters, Statement},
    problem::{Code, Problem},
    request::JsonBody,
    token::Caller,
};

const SEND: Statement =
    Statement::of(include_str!("../../../../sql/queries/produce/api_send_message.sql"));
const SEND_BATCH: Statement =
    Statement::of(include_str!("../../../../sql/queries/produce/api_send_messages.sql"));
const PUBLISH: Statement =
    Statement::of(include_str!("../../../../sql/queries/produce/api_publish_event.sql"));
const PUBLISH_BATCH: Statement =
    Statement::of(include_str!("../../../../sql/queries/produce/publish_events.sql"));

/// A message for one endpoint.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMessage<'a> {
    /// The endpoint's name.
    endpoint: String,
    /// Any JSON. It is sent as PostgreSQL writes it.
    #[schema(value_type = serde_json::Value)]
    #[serde(borrow)]
    payload: &'a RawValue,
    /// 0 to 10, higher ones first.
    #[schema(minimum = 0, maximum = 10, default = 0)]
    priority: Option<i32>,
    /// Not attempted before.
    #[schema(format = "date-time")]
    scheduled_at: Option<String>,
    /// Unique for the endpoint, whoever sends: the same key and payload get the same id.
    idempotency_key: Option<String>,
    #[schema(format = "uuid")]
    correlation_id: Option<String>,
    /// Not attempted at or after.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
    /// Messages of one key reach an endpoint one after the other.
    ordering_key: Option<String>,
    /// Names and values that are sent along.
    #[schema(value_type = Option<Object>)]
    #[serde(borrow)]
    headers: Option<&'a RawValue>,
    /// Kept, and never sent.
    #[schema(value_type = Option<Object>)]
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// Messages for one endpoint, all or nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMessages<'a> {
    /// The endpoint's name.
    endpoint: String,
    /// One message each.
    #[schema(value_type = Vec<serde_json::Value>)]
    #[serde(borrow)]
    payloads: &'a RawValue,
    /// 0 to 10, higher ones first.
    #[schema(minimum = 0, maximum = 10, default = 0)]
    priority: Option<i32>,
}

/// An event for all who subscribe to its type.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEvent<'a> {
    /// The event type's name.
    event_type: String,
    /// Any JSON. It is sent as PostgreSQL writes it.
    #[schema(value_type = serde_json::Value)]
    #[serde(borrow)]
    payload: &'a RawValue,
    /// 0 to 10, higher ones first.
    #[schema(minimum = 0, maximum = 10, default = 0)]
    priority: Option<i32>,
    /// Not attempted before.
    #[schema(format = "date-time")]
    scheduled_at: Option<String>,
    /// Unique for the event type, whoever publishes: the same key and payload get the same id.
    idempotency_key: Option<String>,
    #[schema(format = "uuid")]
    correlation_id: Option<String>,
    /// Not attempted at or after.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
    /// Messages of one key reach an endpoint one after the other.
    ordering_key: Option<String>,
    /// Names and values that are sent along.
    #[schema(value_type = Option<Object>)]
    #[serde(borrow)]
    headers: Option<&'a RawValue>,
    /// Kept, and never sent.
    #[schema(value_type = Option<Object>)]
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// Events, all or nothing.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEvents<'a> {
    /// Each as a single one is written.
    #[schema(value_type = Vec<NewEvent>)]
    #[serde(borrow)]
    events: &'a RawValue,
}

/// The id of a message; receivers see it as `msg_<id>`.
#[derive(Debug, Serialize, ToSchema)]
pub struct Created {
    id: i64,
}

/// The ids of messages, in the order in which they were given.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedMany {
    ids: Vec<i64>,
}

/// Sends one message.
#[utoipa::path(
    post, path = "/api/v1/messages", tag = "messages", operation_id = "send",
    request_body = NewMessage<'static>,
    params(("Idempotency-Key" = Option<String>, Header, description = "A request that is repeated is done once")),
    responses((status = 201, description = "It is committed", body = Created)),
    security(("token" = []))
)]
pub async fn send(
    caller: Caller,
    idempotency: Idempotency,
    State(api): State<Api>,
    body: JsonBody,
) -> Result<Json, Problem> {
    let message: NewMessage<'_> = body.parse()?;
    check_moments(&message.scheduled_at, &message.expires_at)?;
    let correlation_id = uuid(message.correlation_id.as_deref())?;
    let (headers, metadata) =
        (message.headers.map(RawValue::get), message.metadata.map(RawValue::get));
    let statement: (Statement, Parameters<'_>) = (
        SEND,
        &[
            &message.endpoint,
            &message.payload.get(),
            &message.priority,
            &message.scheduled_at,
            &message.idempotency_key,
            &correlation_id,
            &message.expires_at,
            &message.ordering_key,
            &headers,
            &metadata,
        ],
    );
    api.once(&caller, &idempotency, &body.bytes, statement, (StatusCode::CREATED, created)).await
}

/// Sends messages to one endpoint, all or nothing.
#[utoipa::path(
    post, path = "/api/v1/messages/batch", tag = "messages", operation_id = "sendBatch",
    request_body = NewMessages<'static>,
    params(("Idempotency-Key" = Option<String>, Header, description = "A request that is repeated is done once")),
    responses((status = 201, description = "All are committed", body = CreatedMany)),
    security(("token" = []))
)]
pub async fn send_batch(
    caller: Caller,
    idempotency: Idempotency,
    State(api): State<Api>,
    body: JsonBody,
) -> Result<Json, Problem> {
    let NewMessages { endpoint, payloads, priority } = body.parse()?;
    check_array("payloads", payloads)?;
    let statement: (Statement, Parameters<'_>) =
        (SEND_BATCH, &[&endpoint, &payloads.get(), &priority]);
    api.once(&caller, &idempotency, &body.bytes, statement, (StatusCode::CREATED, created_many))
        .await
}

/// Publishes one event.
#[utoipa::path(
    post, path = "/api/v1/events", tag = "messages", operation_id = "publish",
    request_body = NewEvent<'static>,
    params(("Idempotency-Key" = Option<String>, Header, description = "A request that is repeated is done once")),
    responses((status = 201, description = "It is committed", body = Created)),
    security(("token" = []))
)]
pub async fn publish(
    caller: Caller,
    idempotency: Idempotency,
    State(api): State<Api>,
    body: JsonBody,
) -> Result<Json, Problem> {
    let event: NewEvent<'_> = body.parse()?;
    check_moments(&event.scheduled_at, &event.expires_at)?;
    let correlation_id = uuid(event.correlation_id.as_deref())?;
    let (headers, metadata) = (event.headers.map(RawValue::get), event.metadata.map(RawValue::get));
    let statement: (Statement, Parameters<'_>) = (
        PUBLISH,
        &[
            &event.event_type,
            &event.payload.get(),
            &event.priority,
            &event.scheduled_at,
            &event.idempotency_key,
            &correlation_id,
            &event.expires_at,
            &event.ordering_key,
            &headers,
            &metadata,
        ],
    );
    api.once(&caller, &idempotency, &body.bytes, statement, (StatusCode::CREATED, created)).await
}

/// Publishes events, all or nothing.
#[utoipa::path(
    post, path = "/api/v1/events/batch", tag = "messages", operation_id = "publishBatch",
    request_body = NewEvents<'static>,
    params(("Idempotency-Key" = Option<String>, Header, description = "A request that is repeated is done once")),
    responses((status = 201, description = "All are committed", body = CreatedMany)),
    security(("token" = []))
)]
pub async fn publish_batch(
    caller: Caller,
    idempotency: Idempotency,
    State(api): State<Api>,
    body: JsonBody,
) -> Result<Json, Problem> {
    let NewEvents { events } = body.parse()?;
    check_array("events", events)?;
    let statement: (Statement, Parameters<'_>) = (PUBLISH_BATCH, &[&events.get()]);
    api.once(&caller, &idempotency, &body.bytes, statement, (StatusCode::CREATED, created_many))
        .await
}

fn created(rows: &[Row]) -> Result<String, Problem> {
    let row = rows.first().ok_or_else(Problem::internal)?;
    Ok(json!(Created { id: row.get(0) }).to_string())
}

fn created_many(rows: &[Row]) -> Result<String, Problem> {
    let row = rows.first().ok_or_else(Problem::internal)?;
    Ok(json!(CreatedMany { ids: row.get(0) }).to_string())
}

/// The database takes an array apart, so that there is no copy of each of its members here.
fn check_array(name: &str, value: &RawValue) -> Result<(), Problem> {
    if value.get().starts_with('[') {
        return Ok(());
    }
    let problem = Problem::invalid(Code::InvalidBody, format!("{name} must be an array"));
    Err(problem.at(format!("/{name}")))
}

fn uuid(written: Option<&str>) -> Result<Option<Uuid>, Problem> {
    let parse = |text: &str| Uuid::parse_str(text).ok();
    written
        .map(|text| {
            parse(text).ok_or_else(|| {
                Problem::invalid(Code::InvalidBody, "correlation_id must be a UUID")
                    .at("/correlation_id")
            })
        })
        .transpose()
}

/// What they say is judged by the database; without an offset it would be judged by its time zone.
fn check_moments(
    scheduled_at: &Option<String>,
    expires_at: &Option<String>,
) -> Result<(), Problem> {
    for (name, moment) in [("scheduled_at", scheduled_at), ("expires_at", expires_at)] {
        if moment.as_deref().is_some_and(|moment| !has_shape_of_moment(moment)) {
            let rule = "a time with its offset, such as 2030-05-01T09:00:00Z";
            let problem = Problem::invalid(Code::InvalidBody, format!("{name} must be {rule}"));
            return Err(problem.at(format!("/{name}")));
        }
    }
    Ok(())
}

/// `date-time` of RFC 3339.
pub fn has_shape_of_moment(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(19) else { return false };
    let shape: String = date.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=9).contains(&digits) {
                return false;
            }
            &fraction[digits..]
        }
        None => rest,
    };
    let offset: String = rest.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    matches!(shape.as_str(), "0000-00-00T00:00:00" | "0000-00-00t00:00:00")
        && matches!(offset.as_str(), "Z" | "z" | "+00:00" | "-00:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_has_an_offset() {
        for moment in [
            "2030-05-01T09:00:00Z",
            "2030-05-01t09:00:00.123456z",
            "2030-05-01T09:00:00+02:00",
            "2030-05-01T09:00:00.1-11:30",
        ] {
            assert!(has_shape_of_moment(moment), "{moment}");
        }
        for moment in [
            "",
            "tomorrow",
            "infinity",
            "2030-05-01",
            "2030-05-01T09:00:00",
            "2030-05-01 09:00:00Z",
            "2030-05-01T09:00:00 Europe/Berlin",
            "2030-05-01T09:00:00.Z",
            "2030-05-01T09:00:00+2",
            "2030-05-01T09:00:00Zx",
            "ä030-05-01T09:00:00Z",
            "2030-05-01T09:00:0ää",
        ] {
            assert!(!has_shape_of_moment(moment), "{moment}");
        }
    }
}
