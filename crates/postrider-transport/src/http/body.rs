//! The body of a request, which notes when it is sent, and tells when nothing of it is kept any more.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper_util::client::legacy::connect::CaptureConnection;
use tokio::{
    sync::oneshot::{self, error::TryRecvError},
    time::{Instant, timeout_at},
};

use super::{
    BODY_TIMEOUT,
    frames::{Switch, Untaken},
};

/// A message's payload.
///
/// hyper asks for a body when it has written the head of the request: that is when the request is
/// sent. Until then it may have waited for a connection, or for its turn on one.
#[derive(Debug)]
pub struct Payload {
    bytes: Bytes,
    sent_at: Arc<OnceLock<Instant>>,
    /// That of an empty one, which nothing else keeps. It waits for its turn on a connection all the same.
    _gone: Option<oneshot::Sender<Infallible>>,
}

impl Payload {
    /// Sets `sent_at` once, when the request is sent. An empty payload is never asked for and
    /// counts as sent now.
    pub fn new(bytes: Bytes, sent_at: Arc<OnceLock<Instant>>) -> (Self, Unsent) {
        let (gone, unsent) = oneshot::channel();
        let (bytes, gone) = if bytes.is_empty() {
            let _ = sent_at.set(Instant::now());
            (bytes, Some(gone))
        } else {
            (Bytes::from_owner(Kept { bytes, _gone: gone }), None)
        };
        (Self { bytes, sent_at, _gone: gone }, Unsent(unsent))
    }
}

/// Lives as long as anything of a payload does, in whichever buffer.
struct Kept {
    bytes: Bytes,
    _gone: oneshot::Sender<Infallible>,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Tells when nothing of a payload is kept for sending any more.
#[derive(Debug)]
pub struct Unsent(oneshot::Receiver<Infallible>);

impl Unsent {
    /// Whether that is so by then.
    async fn goes_by(self, end: Instant) -> bool {
        timeout_at(end, self.0).await.is_ok()
    }

    /// Sees to it in the background that nothing is kept of a request that nobody waits for any more, if it does not go
    /// by itself: ends the connection that it was given to.
    ///
    /// HTTP/1 closes the connection of a request that is given up, but not before all of it is written. HTTP/2 takes back
    /// what was begun, but looks at what waits for its turn only when that comes. There others may have their turn, so
    /// nothing may have moved for `patience` before.
    pub fn leave(mut self, line: &CaptureConnection, patience: Duration) {
        let Some(switch) = Switch::of(line) else { return };
        let is_kept = self.0.try_recv() == Err(TryRecvError::Empty);
        let untaken = switch.untaken();
        if !is_kept && untaken.is_none() {
            return;
        }
        tokio::spawn(async move {
            if switch.is_shared() {
                tokio::select! {
                    _ = self.0 => {}
                    () = switch.pull_when_still(patience) => {}
                }
            } else {
                self.or_pull(&switch, untaken, Instant::now() + BODY_TIMEOUT).await;
            }
        });
    }

    /// Ends the connection unless by then nothing of the request is kept, and `untaken` is taken, which was left when the
    /// request had its answer: TLS has a copy of its own of what it has begun to write.
    pub async fn or_pull(self, switch: &Switch, untaken: Option<Untaken>, end: Instant) {
        if !(self.goes_by(end).await && switch.is_taken_by(untaken, end).await) {
            switch.pull();
        }
    }
}

impl Body for Payload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.bytes.is_empty() {
            return Poll::Ready(None);
        }
        let _ = self.sent_at.set(Instant::now());
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
