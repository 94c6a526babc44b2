//! What a message for a worker says, written and read.

use std::time::{SystemTime, UNIX_EPOCH};

use super::moment::rfc3339;
use lapin::{
    BasicProperties,
    types::{AMQPValue, FieldTable},
};
use postrider_store::fleet::Dispatched;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The type of the messages, and the version of what they say.
pub const MESSAGE_TYPE: &str = "execution.dispatch";
const VERSION: i64 = 1;
/// It survives a restart of the broker.
const PERSISTENT: u8 = 2;

#[derive(Debug, Serialize, Deserialize)]
struct Envelope {
    message_id: String,
    correlation_id: Option<String>,
    message_type: String,
    version: i64,
    timestamp: String,
    #[serde(default)]
    headers: Map<String, Value>,
    payload: Payload,
}

#[derive(Debug, Serialize, Deserialize)]
struct Payload {
    execution_id: i64,
    fence: i64,
    action: String,
    attempt: i32,
}

/// What a dead letter is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    pub execution_id: i64,
    pub fence: i64,
    pub message_id: String,
}

/// The body and the properties of the message for an execution, published now.
pub fn write(execution: &Dispatched) -> (Vec<u8>, BasicProperties) {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let envelope = Envelope {
        // Each transition draws another fence: so each message has another id.
        message_id: format!("{}-{}", execution.execution_id, execution.fence),
        correlation_id: execution.correlation_id.map(|id| id.to_string()),
        message_type: MESSAGE_TYPE.to_owned(),
        version: VERSION,
        timestamp: rfc3339(since_1970.as_millis() as u64),
        headers: Map::new(),
        payload: Payload {
            execution_id: execution.execution_id,
            fence: execution.fence,
            action: execution.action.clone(),
            attempt: execution.attempt,
        },
    };
    let body = serde_json::to_vec(&envelope).expect("an envelope has text for keys");
    let mut properties = BasicProperties::default()
        .with_message_id(envelope.message_id.into())
        .with_type(MESSAGE_TYPE.into())
        .with_timestamp(since_1970.as_secs())
        .with_content_type("application/json".into())
        .with_delivery_mode(PERSISTENT)
        .with_expiration(execution.expires_in_ms.max(0).to_string().into());
    if let Some(id) = envelope.correlation_id {
        properties = properties.with_correlation_id(id.into());
    }
    (body, properties)
}

/// Reads a body; otherwise what is wrong with it.
pub fn read(body: &[u8]) -> Result<Subject, String> {
    let envelope: Envelope = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if envelope.message_type != MESSAGE_TYPE {
        let found: String = envelope.message_type.chars().take(100).collect();
        return Err(format!("its message_type is `{found}`, not `{MESSAGE_TYPE}`"));
    }
    if envelope.version != VERSION {
        return Err(format!("its version is {}, not {VERSION}", envelope.version));
    }
    Ok(Subject {
        execution_id: envelope.payload.execution_id,
        fence: envelope.payload.fence,
        message_id: envelope.message_id,
    })
}

/// The `x-death` header as JSON, with everything that the broker says; null without one.
pub fn x_death(properties: &BasicProperties) -> Value {
    let headers = properties.headers().as_ref();
    headers.and_then(|headers| headers.inner().get("x-death")).map_or(Value::Null, json)
}

fn json(value: &AMQPValue) -> Value {
    match value {
        AMQPValue::Boolean(is_set) => json!(is_set),
        AMQPValue::ShortShortInt(number) => json!(number),
        AMQPValue::ShortShortUInt(number) => json!(number),
        AMQPValue::ShortInt(number) => json!(number),
        AMQPValue::ShortUInt(number) => json!(number),
        AMQPValue::LongInt(number) => json!(number),
        AMQPValue::LongUInt(number) => json!(number),
        AMQPValue::LongLongInt(number) => json!(number),
        AMQPValue::Float(number) => json!(number),
        AMQPValue::Double(number) => json!(number),
        AMQPValue::DecimalValue(number) => {
            json!(f64::from(number.value) / 10_f64.powi(i32::from(number.scale)))
        }
        AMQPValue::Timestamp(seconds) => json!(rfc3339(seconds.saturating_mul(1_000))),
        AMQPValue::ShortString(text) => text_of(text.as_str().as_bytes()),
        AMQPValue::LongString(text) => text_of(text.as_bytes()),
        AMQPValue::ByteArray(bytes) => text_of(bytes.as_slice()),
        AMQPValue::FieldArray(values) => values.as_slice().iter().map(json).collect(),
        AMQPValue::FieldTable(table) => object(table),
        AMQPValue::Void => Value::Null,
    }
}

fn object(table: &FieldTable) -> Value {
    table
        .into_iter()
        .map(|(name, value)| (without_nul(name.as_str()), json(value)))
        .collect::<Map<String, Value>>()
        .into()
}

fn text_of(bytes: &[u8]) -> Value {
    json!(without_nul(&String::from_utf8_lossy(bytes)))
}

/// jsonb has no place for U+0000.
pub fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn execution() -> Dispatched {
        Dispatched {
            execution_id: 7,
            fence: 11,
            attempt: 2,
            action: "resize".to_owned(),
            worker_id: 3,
            expires_in_ms: 1_500,
            correlation_id: Some(Uuid::nil()),
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let (body, properties) = write(&execution());
        let subject = Subject { execution_id: 7, fence: 11, message_id: "7-11".to_owned() };
        assert_eq!(read(&body), Ok(subject));
        let envelope: Value = serde_json::from_slice(&body).unwrap();
        let expected = json!({ "execution_id": 7, "fence": 11, "action": "resize", "attempt": 2 });
        assert_eq!(envelope["payload"], expected);
        assert_eq!((&envelope["version"], &envelope["headers"]), (&json!(1), &json!({})));
        let expiration = properties.expiration().as_ref().map(|text| text.as_str().to_owned());
        assert_eq!(expiration.as_deref(), Some("1500"));
        assert_eq!(properties.delivery_mode(), &Some(2));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (body, reason) in [
            ("", "EOF"),
            ("\u{0}\u{1}", "expected value"),
            ("[]", "invalid"),
            ("{}", "missing field"),
        ] {
            let error = read(body.as_bytes()).unwrap_err();
            assert!(error.contains(reason), "`{reason}` is not in `{error}`");
        }
        let (body, _) = write(&execution());
        let check = |name: &str, value: Value| {
            let mut envelope: Value = serde_json::from_slice(&body).unwrap();
            envelope[name] = value;
            read(envelope.to_string().as_bytes()).unwrap_err()
        };
        assert!(check("message_type", json!("order")).contains("`order`"));
        assert!(check("version", json!(2)).contains("is 2, not 1"));
        assert!(check("payload", json!({ "execution_id": "7" })).contains("invalid type"));
    }

    #[test]
    fn every_kind_of_header_is_json() {
        let mut death = FieldTable::default();
        death.insert("count".into(), AMQPValue::LongLongInt(1));
        death.insert("time".into(), AMQPValue::Timestamp(951_782_400));
        death.insert("queue".into(), AMQPValue::LongString("a\0b".into()));
        let keys = vec![AMQPValue::LongString("key".into())];
        death.insert("routing-keys".into(), AMQPValue::FieldArray(keys.into()));
        let mut headers = FieldTable::default();
        let deaths = vec![AMQPValue::FieldTable(death)];
        headers.insert("x-death".into(), AMQPValue::FieldArray(deaths.into()));
        let properties = BasicProperties::default().with_headers(headers);
        let expected = json!([{ "count": 1, "time": "2000-02-29T00:00:00Z",
            "queue": "a\u{fffd}b", "routing-keys": ["key"] }]);
        assert_eq!(x_death(&properties), expected);
        assert_eq!(x_death(&BasicProperties::default()), Value::Null);
    }
}
