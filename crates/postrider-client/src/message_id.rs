//! The id of a message.

use std::fmt;

/// The id of a message, a `bigint` in SQL. The same however often the message is attempted.
///
/// ```
/// use postrider_client::MessageId;
///
/// let message = MessageId::from(4_711_424);
/// assert_eq!((i64::from(message), message.to_string()), (4_711_424, "4711424".to_owned()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(i64);

impl From<i64> for MessageId {
    fn from(id: i64) -> Self {
        Self(id)
    }
}

impl From<MessageId> for i64 {
    fn from(id: MessageId) -> Self {
        id.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}
