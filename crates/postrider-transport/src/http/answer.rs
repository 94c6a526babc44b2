//! The body of an answer: read so that its connection can take the next request, and perhaps kept.
//!
//! What is too long or too slow is given up, and its connection with it. The status is known by then,
//! so too late is as good as done.

use std::{ops::ControlFlow, sync::Arc};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};

/// The most that is read of a body of which less is kept, in bytes.
const BODY_MAX: u64 = 64 * 1024;
const KIB: usize = 1024;

/// Reads the body and keeps nothing of it.
pub async fn drain(body: Incoming, end: Instant) {
    if body.is_end_stream() || body.size_hint().lower() > BODY_MAX {
        return;
    }
    let mut left = BODY_MAX;
    read(body, end, |data| pass(&mut left, data)).await;
}

/// Reads the body and keeps its first `max` bytes, as far as there is room (a permit per KiB, given back
/// when what was kept is dropped); and whether that is not all of it.
///
/// A body that names its length has its room from the beginning: of many that come at once, some are
/// kept whole, instead of a part of each.
pub async fn keep(
    body: Incoming,
    max: usize,
    room: &Arc<Semaphore>,
    end: Instant,
) -> (Bytes, bool) {
    let mut left = BODY_MAX.max(max as u64);
    // A connection whose answer is too long is lost, so no more is read than is kept.
    let is_long = body.size_hint().lower() > left;
    let mut kept = Kept { bytes: Vec::new(), room: None };
    // Without room for all of it, what there is goes to its beginning.
    kept.take_room(body.size_hint().lower().min(max as u64) as usize, room);
    let mut is_cut = false;
    let is_whole = read(body, end, |data| {
        is_cut = is_cut || !kept.take(data, max, room);
        if is_cut && is_long { ControlFlow::Break(()) } else { pass(&mut left, data) }
    })
    .await;
    (Bytes::from_owner(kept), is_cut || !is_whole)
}

/// Hands over piece by piece; whether the body was read to its end.
async fn read(
    mut body: Incoming,
    end: Instant,
    mut take: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> bool {
    let read = async {
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else { return false };
            if frame.data_ref().is_some_and(|data| take(data).is_break()) {
                return false;
            }
        }
        true
    };
    timeout_at(end, read).await.unwrap_or(false)
}

fn pass(left: &mut u64, data: &[u8]) -> ControlFlow<()> {
    match left.checked_sub(data.len() as u64) {
        Some(rest) => {
            *left = rest;
            ControlFlow::Continue(())
        }
        None => ControlFlow::Break(()),
    }
}

/// The beginning of a body, and the room that it takes.
struct Kept {
    bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

impl Kept {
    /// Takes what fits; whether that was all.
    fn take(&mut self, data: &[u8], max: usize, room: &Arc<Semaphore>) -> bool {
        let wanted = data.len().min(max - self.bytes.len());
        if !self.take_room(self.bytes.len() + wanted, room) {
            return false;
        }
        self.bytes.extend_from_slice(&data[..wanted]);
        wanted == data.len()
    }

    /// Takes room for this length in all; whether there was so much.
    fn take_room(&mut self, length: usize, room: &Arc<Semaphore>) -> bool {
        let held = self.room.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = length.div_ceil(KIB).saturating_sub(held);
        if missing == 0 {
            return true;
        }
        let Ok(more) = Arc::clone(room).try_acquire_many_owned(missing as u32) else {
            return false;
        };
        match &mut self.room {
            Some(room) => room.merge(more),
            None => self.room = Some(more),
        }
        true
    }
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_that_come_at_once_one_is_kept_whole() {
        let room = Arc::new(Semaphore::new(10));
        let (length, piece) = (6 * KIB, vec![b'x'; 3 * KIB]);
        let [mut first, mut second] = [(); 2].map(|()| Kept { bytes: Vec::new(), room: None });
        assert!(first.take_room(length, &room));
        assert!(!second.take_room(length, &room));
        assert!(second.take(&piece, length, &room), "its beginning");
        for _ in 0..2 {
            assert!(first.take(&piece, length, &room));
        }
        assert!(!second.take(&piece, length, &room));
        assert_eq!((first.bytes.len(), second.bytes.len()), (length, 3 * KIB));
        drop((first, second));
        assert_eq!(room.available_permits(), 10);
    }
}
