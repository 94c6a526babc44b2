//! What every transport does: it is given messages with tickets, sends them, and reports each.

use std::{future::Future, pin::Pin, sync::Arc};

use bytes::Bytes;
use postrider_core::flow::Flow;
use tokio::time::Instant;

use crate::Ticket;

/// One message on its way to one endpoint, with all that a transport may send of it.
#[derive(Debug, Clone)]
pub struct Envelope {
    /// The message's id: the same in every attempt and redrive.
    pub message_id: i64,
    /// 1 for the first attempt.
    pub attempt: u32,
    pub correlation_id: Option<uuid::Uuid>,
    /// Of a published message.
    pub event_type: Option<Arc<str>>,
    /// Of a replay: the message that it repeats.
    pub replay_of: Option<i64>,
    /// When it was sent, and until when it is good, in microseconds since 1970.
    pub created_at: i64,
    pub expires_at: Option<i64>,
    pub ordering_key: Option<Arc<str>>,
    /// What the sender noted: a JSON object, as text. Not to be sent, unless the config names some of it.
    pub metadata: Option<Arc<str>>,
    /// The message's own headers: a JSON object of strings, as text.
    pub headers: Option<Arc<str>>,
    /// The body exactly as it is to be sent.
    pub payload: Bytes,
    /// What the body is, where it is no JSON.
    pub content_type: Option<Arc<str>>,
}

/// What would be sent of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub method: String,
    pub url: String,
    /// By name.
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

/// A batch on its way: over when all its tickets are.
///
/// Dropped, it drops the tickets of what has no answer yet.
pub type Attempts = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An endpoint, opened: its configuration understood, its connections kept between attempts.
///
/// Is shared by all who send to the endpoint, at the same time. Limits on how many may be under way
/// are the caller's to hold.
pub trait Transport: Send + Sync {
    /// How many messages one call of [`attempt`](Self::attempt) should be given. More are sent too.
    fn batch_limit(&self) -> usize;

    /// How much the endpoint takes. The caller sees to it.
    fn flow(&self) -> Flow;

    /// Whether the outcome `Gone` also disables the endpoint.
    fn is_disabled_when_gone(&self) -> bool {
        false
    }

    /// Whether anything of a message's metadata is sent. Those do not travel with the message.
    fn needs_metadata(&self) -> bool {
        false
    }

    /// What would be sent of a message, if this protocol sends anything, or why it can never be sent. Signatures
    /// are `…`: who may look need not be somebody who may sign.
    fn preview(&self, _envelope: Envelope) -> Option<Result<Preview, String>> {
        None
    }

    /// Sends the batch and reports each message by itself, when its own answer is seen; no later than
    /// `deadline`, by which time our right to send ends: what has no answer then is unknown, and what
    /// has not been sent is not sent.
    fn attempt(self: Arc<Self>, batch: Vec<(Envelope, Ticket)>, deadline: Instant) -> Attempts;
}
