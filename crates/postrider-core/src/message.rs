//! Messages, as they are read from the log.

use std::sync::Arc;

use bytes::Bytes;
use uuid::Uuid;

use crate::{
    id::{MessageId, Priority, Target},
    reader,
    snapshot::Xid,
    timestamp::Timestamp,
};

/// A message as read from the log.
#[derive(Debug, Clone)]
pub struct LogMessage {
    pub id: MessageId,
    pub xid: Xid,
    pub targets: Targets,
    pub terms: Terms,
    pub content: Content,
}

/// The targets of a message: nearly always one.
#[derive(Debug, Clone)]
pub enum Targets {
    One(Target),
    Many(Box<[Target]>),
}

impl Targets {
    pub fn as_slice(&self) -> &[Target] {
        match self {
            Targets::One(target) => std::slice::from_ref(target),
            Targets::Many(targets) => targets,
        }
    }
}

/// When and in which order a message goes.
#[derive(Debug, Clone)]
pub struct Terms {
    pub created_at: Timestamp,
    pub scheduled_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    pub priority: Priority,
    pub ordering_key: Option<Arc<str>>,
    pub has_idempotency_key: bool,
}

impl Terms {
    /// When it was sent, or for when it is scheduled.
    pub fn pending_since(&self) -> Timestamp {
        self.scheduled_at.map_or(self.created_at, |at| at.max(self.created_at))
    }
}

/// What is sent of a message.
#[derive(Debug, Clone)]
pub struct Content {
    pub correlation_id: Option<Uuid>,
    pub event_type: Option<Arc<str>>,
    pub headers: Option<Arc<str>>,
    /// Only of what was fetched by itself: hardly an endpoint names any of it.
    pub metadata: Option<Arc<str>>,
    pub payload: Payload,
    /// Of a payload that is no JSON.
    pub content_type: Option<Arc<str>>,
    /// Of a replay: the message that it repeats.
    pub replay_of: Option<MessageId>,
}

#[derive(Debug, Clone)]
pub enum Payload {
    Here(Bytes),
    /// To be fetched; so many bytes long.
    Stored {
        bytes: u32,
    },
    /// Neither the log nor a dead letter has the message any more.
    Gone,
}

impl Content {
    /// Of a message that nobody has any more.
    pub fn gone() -> Content {
        Content {
            correlation_id: None,
            event_type: None,
            headers: None,
            metadata: None,
            payload: Payload::Gone,
            content_type: None,
            replay_of: None,
        }
    }
}

impl reader::Aged for LogMessage {
    fn created_at(&self) -> i64 {
        self.terms.created_at.0
    }

    fn pending_since(&self) -> i64 {
        self.terms.pending_since().0
    }
}

impl reader::Row for LogMessage {
    fn id(&self) -> MessageId {
        self.id
    }
    fn xid(&self) -> Xid {
        self.xid
    }
    fn targets(&self) -> &[Target] {
        self.targets.as_slice()
    }
    fn expires(&self) -> bool {
        self.terms.expires_at.is_some()
    }
}
