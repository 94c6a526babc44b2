//! What to say of an attempt that has no answer: what failed, and no address, header or secret.

use std::{error::Error, io, time::Duration};

use postrider_core::{
    outcome::{Outcome, Report},
    request::RequestError,
};

use super::{INFORMATIONAL_MAX, NoAnswer, token::NoToken};
use crate::guard::ConnectError;

/// The longest piece of another's words that is repeated, in characters.
const WORDS_MAX: usize = 200;

/// The report of a message that can never be sent.
pub fn unsendable(error: &RequestError) -> Report {
    Report::failed(Outcome::Rejected, unsendable_text(error), Duration::ZERO)
}

pub fn unsendable_text(error: &RequestError) -> String {
    format!("the message cannot be sent: {error}")
}

/// The report of a message whose turn came too late.
pub fn not_sent() -> Report {
    let error = "not sent: its time was over before".to_owned();
    Report::failed(Outcome::NotSent, error, Duration::ZERO)
}

/// The report of a message for which there is no token. Nothing of it was taken. One failure counts once, however many
/// wait for the same token.
pub fn no_token(missing: &NoToken, duration: Duration) -> Report {
    let outcome = match missing.is_anothers {
        true => Outcome::NotSent,
        false => Outcome::Unavailable { retry_after: None },
    };
    Report::failed(
        outcome,
        format!("no token from the token endpoint: {}", missing.error),
        duration,
    )
}

/// The report of an attempt without an answer. Of a request that was begun the receiver may have acted on.
pub fn no_answer(reason: NoAnswer, was_sent: bool, duration: Duration) -> Report {
    let error = match reason {
        NoAnswer::Failed(error) => describe(&error),
        NoAnswer::Timeout(limit) => format!("timeout: no answer within {} s", limit.as_secs_f32()),
        NoAnswer::Babble => {
            format!("protocol error: more than {INFORMATIONAL_MAX} informational answers")
        }
        NoAnswer::TimeIsOver => "no answer within the longest time of an attempt".to_owned(),
    };
    let outcome = match was_sent {
        true => Outcome::Unknown,
        false => Outcome::Unavailable { retry_after: None },
    };
    Report::failed(outcome, error, duration)
}

/// What failed, by the innermost error that says so.
pub fn describe(error: &(dyn Error + 'static)) -> String {
    let mut text = None;
    let mut cause = Some(error);
    while let Some(error) = cause {
        text = describe_one(error).or(text);
        cause = cause_of(error);
    }
    text.unwrap_or_else(|| "the connection failed".to_owned())
}

/// An [`io::Error`] hides what it was made of: its `source` is that of its content.
fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>() {
        Some(error) => error.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => error.source(),
    }
}

fn describe_one(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<ConnectError>() {
        return Some(error.to_string());
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(format!("TLS failure: {}", excerpt(error)));
    }
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return describe_io(error);
    }
    let error = error.downcast_ref::<hyper::Error>()?;
    Some(if error.is_incomplete_message() {
        "the connection was closed before the answer was complete".to_owned()
    } else if error.is_timeout() {
        "timeout: the connection is dead".to_owned()
    } else if error.is_parse() {
        format!("protocol error: {}", excerpt(error))
    } else {
        let words = error.source().map_or_else(|| excerpt(error), excerpt);
        format!("protocol error: {words}")
    })
}

fn describe_io(error: &io::Error) -> Option<String> {
    let text = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused",
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => "connection reset",
        io::ErrorKind::TimedOut => "timeout: no connection",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            "destination unreachable"
        }
        io::ErrorKind::AddrNotAvailable => "no such source_address on the dispatcher's machine",
        io::ErrorKind::NotConnected => "no source_address of the destination's family",
        io::ErrorKind::UnexpectedEof => "the connection was closed too early",
        // What it was made of says more.
        _ if error.get_ref().is_some() => return None,
        _ => return Some(format!("connection failed: {}", excerpt(error))),
    };
    Some(text.to_owned())
}

fn excerpt(error: &(impl Error + ?Sized)) -> String {
    error.to_string().chars().take(WORDS_MAX).filter(|letter| !letter.is_control()).collect()
}
