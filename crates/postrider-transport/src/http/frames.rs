//! Counts the frames of an HTTP/2 connection against the requests on it, and ends connections whose receiver takes no
//! requests.
//!
//! Frames of a few bytes each (informational answers, pings, settings, empty data) cost much more than their
//! length says, and nothing else bounds their number. Only heads of frames are looked at.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::task::AtomicWaker;
use http::Extensions;
use hyper_util::client::legacy::connect::CaptureConnection;
use postrider_core::hashing::HashSet;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep, sleep_until},
};

use crate::{guard::ConnectError, idle::Open};

/// How much more than its requests account for a connection may have brought.
const EXCESS_MAX: i64 = 1_024;
/// What a request accounts for: as long as it is under way in advance, since many may go out before their answers come.
const REQUEST: i64 = 256;
/// What the head of an answer costs that does not end it, as informational ones do not.
const UNFINISHED_HEAD: i64 = 8;
/// What any other frame costs.
const FRAME: i64 = 1;
/// So many requests that we gave up last still account for frames: those that cross the end of theirs.
const CROSSED_MOST: usize = 128;
/// A body is answered by two frames that widen the windows for so many of its bytes, or for more.
const WINDOW_STEP: u32 = 4_096;
/// As much as that is kept for answers that come when a body has been sent. More is sent ahead of its answers only
/// where windows are larger than any in use.
const WINDOW_ANSWERS_MAX: u32 = 65_536;
/// How long a receiver may leave something of what is written untaken, in all: longer than any attempt. Before the end
/// of an attempt nobody else need end the connection, and behind it HTTP waits without a limit to say what is left.
const UNTAKEN_TIMEOUT: Duration = Duration::from_secs(330);
/// How long the end of a connection may take to be said when everything else is.
const FAREWELL_TIMEOUT: Duration = Duration::from_secs(1);

/// What a client says first.
const PREFACE_LENGTH: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
const HEAD_LENGTH: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;

/// Stands between HTTP and the network. Where HTTP/1 is spoken nothing is counted.
#[derive(Debug)]
pub struct Frames<S> {
    stream: S,
    counts: Option<Counts>,
    switch: Switch,
    /// Until when what is written has to be taken, if the receiver does not take it at once.
    untaken: Option<Pin<Box<Sleep>>>,
    /// When the end need not be said any more.
    farewell: Option<Pin<Box<Sleep>>>,
    _open: Open,
}

/// Ends a connection. The answers to requests on it carry one.
///
/// A receiver may answer and never take the request, or take no requests at all: HTTP then keeps what is unsent for as
/// long as the connection is there.
#[derive(Debug, Clone)]
pub struct Switch(Arc<Wire>);

#[derive(Debug, Default)]
struct Wire {
    /// Whether requests share the connection.
    is_http2: bool,
    is_off: AtomicBool,
    /// Odd while the receiver has not taken all that was written. Another number each time.
    taking: AtomicU64,
    reader: AtomicWaker,
    writer: AtomicWaker,
    /// How many heads and pieces of requests have gone out over HTTP/2.
    moves: AtomicU64,
}

impl Switch {
    /// That of the connection which a request was given to last, if there was one.
    pub fn of(line: &CaptureConnection) -> Option<Self> {
        let mut extensions = Extensions::new();
        line.connection_metadata().as_ref()?.get_extras(&mut extensions);
        extensions.remove()
    }

    /// Nothing is read from the connection any more and nothing is written, so it ends.
    pub fn pull(&self) {
        self.0.is_off.store(true, Ordering::Release);
        self.0.reader.wake();
        self.0.writer.wake();
    }

    /// Whether requests share the connection.
    pub fn is_shared(&self) -> bool {
        self.0.is_http2
    }

    /// What the receiver has not taken of all that was written, if there is something. Where requests share a connection
    /// that says nothing about one of them.
    pub fn untaken(&self) -> Option<Untaken> {
        let number = self.0.taking.load(Ordering::Acquire);
        (!self.0.is_http2 && number % 2 == 1).then_some(Untaken(number))
    }

    /// Whether the receiver has taken it by then, whatever was written behind it.
    pub async fn is_taken_by(&self, untaken: Option<Untaken>, end: Instant) -> bool {
        if untaken.is_some() && self.untaken() == untaken {
            sleep_until(end).await;
        }
        untaken.is_none() || self.untaken() != untaken
    }

    /// Pulls once nothing of any request has gone out for so long.
    ///
    /// Where that is longer than a request may take, whatever was begun on the connection is over by then, and what
    /// waits there for its turn has not been begun: nobody who is merely slow loses an answer.
    pub async fn pull_when_still(&self, patience: Duration) {
        loop {
            let moves = self.0.moves.load(Ordering::Relaxed);
            sleep(patience).await;
            if self.0.moves.load(Ordering::Relaxed) == moves {
                return self.pull();
            }
        }
    }

    fn note_moves(&self, count: u64) {
        self.0.moves.fetch_add(count, Ordering::Relaxed);
    }
}

/// Something that was written and that a receiver has not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Untaken(u64);

impl Wire {
    /// Whoever reads or writes asks this first, and is woken by its waker when the answer changes.
    fn check(&self, waker: &AtomicWaker, context: &Context<'_>) -> io::Result<()> {
        waker.register(context.waker());
        if self.is_off.load(Ordering::Acquire) {
            return Err(io::Error::other(ConnectError::Untaken));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Counts {
    incoming: Heads,
    outgoing: Heads,
    /// Below zero by what requests that are under way account for.
    excess: i64,
    /// The streams of those.
    under_way: HashSet<u32>,
    /// Those of them that we gave up last, in order.
    given_up: VecDeque<u32>,
    /// Frames that are still due for bodies that were sent.
    due: u32,
}

impl<S> Frames<S> {
    /// Is counted as open for as long as it lives.
    pub fn new(stream: S, is_http2: bool, open: Open) -> Self {
        let counts = is_http2.then(Counts::new);
        let switch = Switch(Arc::new(Wire { is_http2, ..Wire::default() }));
        Self { stream, counts, switch, untaken: None, farewell: None, _open: open }
    }

    pub fn stream(&self) -> &S {
        &self.stream
    }

    pub fn switch(&self) -> Switch {
        self.switch.clone()
    }

    fn check_reading(&self, context: &Context<'_>) -> io::Result<()> {
        self.switch.0.check(&self.switch.0.reader, context)
    }

    fn check_writing(&self, context: &Context<'_>) -> io::Result<()> {
        self.switch.0.check(&self.switch.0.writer, context)
    }

    /// Passes on what came of writing. Only when all of it has gone out the receiver has a new limit: one that takes a
    /// byte now and then takes nothing.
    fn note_written<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
        is_flush: bool,
    ) -> Poll<io::Result<T>> {
        if written.is_pending() {
            if self.untaken.is_none() {
                self.switch.0.taking.fetch_add(1, Ordering::Release);
            }
            let end = self.untaken.get_or_insert_with(|| Box::pin(sleep(UNTAKEN_TIMEOUT)));
            ready!(end.as_mut().poll(context));
            return Poll::Ready(Err(io::Error::other(ConnectError::Untaken)));
        }
        if is_flush && self.untaken.take().is_some() {
            self.switch.0.taking.fetch_add(1, Ordering::Release);
        }
        written
    }

    fn take_outgoing<'a>(&mut self, pieces: impl Iterator<Item = &'a [u8]>) {
        if let Some(counts) = &mut self.counts {
            let moves: u64 = pieces.map(|bytes| counts.take_outgoing(bytes)).sum();
            self.switch.note_moves(moves);
        }
    }
}

impl Counts {
    fn new() -> Self {
        let (incoming, outgoing) = (Heads::after(0), Heads::after(PREFACE_LENGTH));
        let (under_way, given_up) = (HashSet::default(), VecDeque::new());
        Self { incoming, outgoing, excess: 0, under_way, given_up, due: 0 }
    }

    fn take_incoming(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Self { incoming, excess, under_way, due, .. } = self;
        incoming.take(bytes, |frame| {
            let is_last = frame.is_last();
            let is_unfinished = frame.kind == HEADERS && !is_last;
            match due.checked_sub(1) {
                Some(left) if frame.kind == WINDOW_UPDATE => *due = left,
                _ if is_unfinished => *excess = excess.saturating_add(UNFINISHED_HEAD),
                _ => *excess = excess.saturating_add(FRAME),
            }
            if is_last {
                end_stream(under_way, excess, frame.stream);
            }
        });
        if self.excess > EXCESS_MAX { Err(io::Error::other(ConnectError::Flood)) } else { Ok(()) }
    }

    /// How many frames of requests began in these bytes.
    fn take_outgoing(&mut self, bytes: &[u8]) -> u64 {
        let Self { outgoing, excess, under_way, given_up, due, .. } = self;
        let mut moves = 0;
        outgoing.take(bytes, |frame| {
            match frame.kind {
                HEADERS => {
                    under_way.insert(frame.stream);
                    *excess = excess.saturating_sub(REQUEST);
                }
                DATA => {
                    let answers = 2 * (frame.length / WINDOW_STEP + 1);
                    *due = due.saturating_add(answers).min(WINDOW_ANSWERS_MAX);
                }
                // What is over already crosses nothing.
                RST_STREAM if under_way.contains(&frame.stream) => {
                    if given_up.len() == CROSSED_MOST
                        && let Some(oldest) = given_up.pop_front()
                    {
                        end_stream(under_way, excess, oldest);
                    }
                    given_up.push_back(frame.stream);
                    return;
                }
                _ => return,
            }
            moves += 1;
        });
        moves
    }
}

/// A request is over. What is left of what it accounts for is not kept for frames that come later.
fn end_stream(under_way: &mut HashSet<u32>, excess: &mut i64, stream: u32) {
    if under_way.remove(&stream) {
        *excess = (*excess).max(-REQUEST * under_way.len() as i64);
    }
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    kind: u8,
    flags: u8,
    stream: u32,
    length: u32,
}

impl Head {
    fn read([high, middle, low, kind, flags, stream @ ..]: [u8; HEAD_LENGTH]) -> Self {
        let length = u32::from_be_bytes([0, high, middle, low]);
        // Its first bit is reserved.
        let stream = u32::from_be_bytes(stream) & (u32::MAX >> 1);
        Self { kind, flags, stream, length }
    }

    /// Whether nothing of its stream comes behind it.
    fn is_last(self) -> bool {
        let can_end = self.kind == DATA || self.kind == HEADERS;
        self.kind == RST_STREAM || can_end && self.flags & END_STREAM != 0
    }
}

/// The heads of frames in one direction, however the bytes are cut.
#[derive(Debug)]
struct Heads {
    /// What comes before the next head.
    skipped: usize,
    head: [u8; HEAD_LENGTH],
    length: usize,
}

impl Heads {
    fn after(skipped: usize) -> Self {
        Self { skipped, head: [0; HEAD_LENGTH], length: 0 }
    }

    /// Hands over the head of every frame whose head ends in `bytes`.
    fn take(&mut self, mut bytes: &[u8], mut note: impl FnMut(Head)) {
        while !bytes.is_empty() {
            let skipped = self.skipped.min(bytes.len());
            self.skipped -= skipped;
            bytes = &bytes[skipped..];
            let taken = bytes.len().min(HEAD_LENGTH - self.length);
            self.head[self.length..][..taken].copy_from_slice(&bytes[..taken]);
            self.length += taken;
            bytes = &bytes[taken..];
            if self.length == HEAD_LENGTH {
                let head = Head::read(self.head);
                self.skipped = head.length as usize;
                self.length = 0;
                note(head);
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Frames<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_reading(context)?;
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let bytes = &buffer.filled()[before..];
        Poll::Ready(self.counts.as_mut().map_or(Ok(()), |counts| counts.take_incoming(bytes)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Frames<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check_writing(context)?;
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        let length = ready!(self.note_written(context, written, false))?;
        self.take_outgoing([&bytes[..length]].into_iter());
        Poll::Ready(Ok(length))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_writing(context)?;
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.note_written(context, flushed, true)
    }

    /// Says goodbye to whoever takes it in time, and is done in time with whoever does not.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check_writing(context)?;
        let said = Pin::new(&mut self.stream).poll_shutdown(context);
        if said.is_ready() {
            return said;
        }
        let end = self.farewell.get_or_insert_with(|| Box::pin(sleep(FAREWELL_TIMEOUT)));
        end.as_mut().poll(context).map(Ok)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check_writing(context)?;
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        let length = ready!(self.note_written(context, written, false))?;
        let mut left = length;
        self.take_outgoing(slices.iter().map(|slice| {
            let taken = left.min(slice.len());
            left -= taken;
            &slice[..taken]
        }));
        Poll::Ready(Ok(length))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::idle::IdleConnections;

    #[tokio::test]
    async fn what_is_not_taken_is_known_and_whoever_writes_it_is_told_when_the_connection_is_ended()
    {
        let (stream, mut receiver) = tokio::io::duplex(4);
        let open = IdleConnections::new(8).count(|| ()).open();
        let mut frames = Frames::new(stream, false, open);
        let switch = frames.switch();
        frames.write_all(b"full").await.unwrap();
        assert_eq!(switch.untaken(), None);
        let mut last = None;
        for _ in 0..2 {
            assert!(frames.write_all(b"more").now_or_never().is_none());
            let untaken = switch.untaken();
            assert!(untaken.is_some() && untaken != last);
            last = untaken;
            receiver.read_exact(&mut [0; 4]).await.unwrap();
            frames.write_all(b"more").await.unwrap();
            assert!(!switch.is_taken_by(untaken, Instant::now()).await, "a part was taken");
            frames.flush().await.unwrap();
            assert!(switch.is_taken_by(untaken, Instant::now()).await);
        }
        let pull = async { switch.pull() };
        let (written, ()) = tokio::join!(frames.write_all(b"more"), pull);
        written.unwrap_err();
        frames.flush().await.unwrap_err();
        frames.shutdown().await.unwrap_err();
        frames.read_u8().await.unwrap_err();
    }

    fn frame(kind: u8, flags: u8, length: usize) -> Vec<u8> {
        frame_of(1, kind, flags, length)
    }

    fn frame_of(stream: u32, kind: u8, flags: u8, length: usize) -> Vec<u8> {
        let [.., high, middle, low] = length.to_be_bytes();
        let mut bytes = vec![high, middle, low, kind, flags];
        bytes.extend(stream.to_be_bytes());
        bytes.resize(HEAD_LENGTH + length, 0xff);
        bytes
    }

    fn counts() -> Counts {
        let mut counts = Counts::new();
        counts.take_outgoing(&[b'P'; PREFACE_LENGTH]);
        counts
    }

    /// How many such frames end the connection.
    fn flood(counts: &mut Counts, frame: &[u8]) -> usize {
        (1..).find(|_| counts.take_incoming(frame).is_err()).unwrap()
    }

    #[test]
    fn frames_are_found_however_they_are_cut() {
        let bytes = [frame(HEADERS, 0, 5), frame(0, END_STREAM, 300), frame(6, 0, 8)].concat();
        for size in [1, 2, 3, 8, 9, 10, 13, 14, 400] {
            let (mut heads, mut found) = (Heads::after(0), Vec::new());
            for piece in bytes.chunks(size) {
                heads.take(piece, |head| found.push((head.kind, head.flags, head.length)));
            }
            let expected = [(HEADERS, 0, 5), (DATA, END_STREAM, 300), (6, 0, 8)];
            assert_eq!(found, expected, "pieces of {size}");
        }
        let head = Head::read([0, 1, 2, DATA, 0, 0x80, 0, 1, 3]);
        assert_eq!((head.length, head.stream), (258, 259), "the first bit of a stream is reserved");
    }

    #[test]
    fn frames_that_nobody_asked_for_end_the_connection() {
        let head = frame(HEADERS, 4, 40);
        for (kind, per_frame) in [(HEADERS, UNFINISHED_HEAD), (6, 1), (0, 1), (9, 1)] {
            let flooding = frame(kind, 0, 8);
            let most = |allowed: i64| usize::try_from(allowed / per_frame + 1).unwrap();
            assert_eq!(flood(&mut counts(), &flooding), most(EXCESS_MAX), "kind {kind}");
            let mut asked = counts();
            asked.take_outgoing(&head);
            assert_eq!(flood(&mut asked, &flooding), most(EXCESS_MAX + REQUEST), "kind {kind}");
        }
    }

    #[test]
    fn nothing_is_kept_of_what_requests_account_for_that_are_over() {
        let head = frame(HEADERS, 4, 40);
        let reset = frame(RST_STREAM, 0, 4);
        for answer in
            [frame(HEADERS, 4 | END_STREAM, 60), frame(DATA, END_STREAM, 0), reset.clone()]
        {
            let mut counts = counts();
            for _ in 0..1_000 {
                counts.take_outgoing(&head);
                counts.take_incoming(&answer).unwrap();
                // We want no more of it either.
                counts.take_outgoing(&reset);
            }
            assert_eq!((counts.excess, counts.under_way.len()), (0, 0));
            assert!(counts.given_up.is_empty());
        }
        // What is never answered accounts for a bounded number of frames once it is given up.
        let mut counts = counts();
        for number in 0..1_000 {
            let stream = 2 * number + 1;
            counts.take_outgoing(&frame_of(stream, HEADERS, 4, 40));
            counts.take_outgoing(&frame_of(stream, RST_STREAM, 0, 4));
        }
        assert_eq!(counts.under_way.len(), CROSSED_MOST);
        assert_eq!(counts.excess, -REQUEST * CROSSED_MOST as i64);
        assert_eq!(counts.given_up.len(), CROSSED_MOST);
    }

    /// A proxy gives up when we do, and says so of each.
    #[test]
    fn answers_may_cross_the_end_of_their_requests() {
        const COUNT: u32 = 64;
        let mut counts = counts();
        for stream in (0..COUNT).map(|number| 2 * number + 1) {
            counts.take_outgoing(&frame_of(stream, HEADERS, 4, 40));
        }
        for stream in (0..COUNT).map(|number| 2 * number + 1) {
            counts.take_outgoing(&frame_of(stream, RST_STREAM, 0, 4));
        }
        for stream in (0..COUNT).map(|number| 2 * number + 1) {
            let answer = [frame_of(stream, HEADERS, 4, 60).repeat(30), frame_of(stream, 0, 1, 9)];
            counts.take_incoming(&answer.concat()).unwrap();
        }
        assert!(counts.under_way.is_empty());
        assert_eq!(flood(&mut counts, &frame(6, 0, 8)), EXCESS_MAX as usize + 1);
    }

    /// More than may come unasked, of every kind of answer: a receiver that answers many requests at once is not one
    /// that floods.
    #[test]
    fn requests_that_go_out_together_may_be_answered_together() {
        const COUNT: u32 = 250;
        let streams = || (0..COUNT).map(|number| 2 * number + 1);
        let with_body =
            |stream| [frame_of(stream, HEADERS, 4, 60), frame_of(stream, 0, 1, 9)].concat();
        let informed = |stream| {
            let head = frame_of(stream, HEADERS, 4, 60);
            [head.repeat(2), frame_of(stream, HEADERS, 5, 60)].concat()
        };
        let mut counts = counts();
        for _ in 0..3 {
            for stream in streams() {
                counts.take_outgoing(&frame_of(stream, HEADERS, 4, 40));
            }
            for stream in streams() {
                let answer = if stream % 4 == 1 { with_body(stream) } else { informed(stream) };
                counts.take_incoming(&answer).unwrap();
            }
            assert!(counts.under_way.is_empty());
        }
        assert_eq!(flood(&mut counts, &frame(6, 0, 8)), EXCESS_MAX as usize + 1);
    }

    #[test]
    fn a_large_body_may_be_answered_by_many_wider_windows() {
        const PIECES: usize = 4_096;
        let head = frame(HEADERS, 4, 40);
        let (data, widened) = (frame(DATA, 0, 16_384), frame(WINDOW_UPDATE, 0, 4));
        // Answered at once, and when all of it has been sent.
        for ahead in [1, PIECES] {
            let mut counts = counts();
            counts.take_outgoing(&head);
            for _ in 0..PIECES / ahead {
                counts.take_outgoing(&data.repeat(ahead));
                counts.take_incoming(&widened.repeat(8 * ahead)).unwrap();
            }
            let left = counts.due as usize;
            counts.take_incoming(&widened.repeat(left)).unwrap();
            let most = EXCESS_MAX + REQUEST + 1;
            assert_eq!(flood(&mut counts, &widened), most as usize);
        }
    }

    #[test]
    fn an_answer_in_many_frames_to_each_of_many_requests_is_welcome() {
        let mut counts = counts();
        let head = frame(HEADERS, 4, 40);
        let answer = [frame(HEADERS, 4, 60), frame(0, 0, 500).repeat(200), frame(0, 1, 0)].concat();
        for _ in 0..100 {
            counts.take_outgoing(&head);
            counts.take_incoming(&answer).unwrap();
        }
    }
}
