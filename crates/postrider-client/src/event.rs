//! One of many events that are published together.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::{Error, Options};

/// One of many events for [`Postrider::publish_batch`](crate::Postrider::publish_batch).
///
/// ```
/// use postrider_client::{Event, Options};
///
/// let event = Event::new("order.placed", &"a payload")?.with(Options::new().ordering_key("7"));
/// # Ok::<(), postrider_client::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Event {
    event_type: String,
    payload: Box<RawValue>,
    options: Options,
}

impl Event {
    /// An event with no options.
    ///
    /// # Errors
    ///
    /// [`Error::Serialize`] when the payload cannot be written as JSON.
    pub fn new<P>(event_type: impl Into<String>, payload: &P) -> Result<Self, Error>
    where
        P: Serialize + ?Sized,
    {
        let payload = serde_json::value::to_raw_value(payload).map_err(Error::Serialize)?;
        Ok(Self { event_type: event_type.into(), payload, options: Options::new() })
    }

    /// Sets the options.
    #[must_use]
    pub fn with(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }
}

/// As `publish_batch` in SQL takes it, without the times.
#[derive(Serialize)]
struct Row<'a> {
    event_type: &'a str,
    payload: &'a RawValue,
    priority: u8,
    idempotency_key: Option<&'a str>,
    correlation_id: Option<String>,
    ordering_key: Option<&'a str>,
    headers: Option<&'a BTreeMap<String, String>>,
    metadata: Option<&'a Value>,
}

impl Serialize for Event {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { event_type, payload, options } = self;
        let row = Row {
            event_type,
            payload,
            priority: options.priority,
            idempotency_key: options.idempotency_key.as_deref(),
            correlation_id: options.correlation_id.as_ref().map(Uuid::to_string),
            ordering_key: options.ordering_key.as_deref(),
            headers: options.headers.as_ref(),
            metadata: options.metadata.as_ref(),
        };
        row.serialize(serializer)
    }
}
