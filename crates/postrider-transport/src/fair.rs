//! A stream that leaves others their turn, and that cannot bring bytes for ever.
//!
//! Whoever reads from a connection reads for as long as there is something, and takes apart all that one read
//! brings. A destination that sends without a pause, such as informational answers, empty TLS records or the digits of
//! a chunk's length, would so keep a thread for as long as the scheduler's budget of *reads* lasts, and that is
//! megabytes: 512 such connections stopped all tasks of a dispatcher for longer than its lease.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::guard::ConnectError;

/// After so many bytes in a row, without a wait, it is somebody else's turn. Most answers are shorter. What is dearest
/// to take apart costs some 50 ns a byte, and 512 such connections come before the next turn.
pub const TURN_MAX: usize = 4 * 1024;
/// The most bytes that a destination may send without any of ours between: more than the longest
/// answer that we read, and than what fits into the windows of an HTTP/2 connection.
pub const SPEECH_MAX: usize = 2 * 1024 * 1024;

/// Stands where bytes come from the network, below TLS.
#[derive(Debug)]
pub struct Fair<S> {
    stream: S,
    in_turn: usize,
    in_speech: usize,
}

impl<S> Fair<S> {
    pub fn new(stream: S) -> Self {
        Self { stream, in_turn: 0, in_speech: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Fair<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.in_turn >= TURN_MAX {
            self.in_turn = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let room = buffer.remaining().min(TURN_MAX - self.in_turn);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
        let read = Pin::new(&mut self.stream).poll_read(context, &mut part);
        if read.is_pending() {
            self.in_turn = 0;
        }
        ready!(read)?;
        let length = part.filled().len();
        buffer.advance(length);
        self.in_turn += length;
        self.in_speech += length;
        let is_flood = self.in_speech > SPEECH_MAX;
        Poll::Ready(if is_flood { Err(io::Error::other(ConnectError::Flood)) } else { Ok(()) })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Fair<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.in_speech = 0;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.in_speech = 0;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

impl<S: Connection> Connection for Fair<S> {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// Always has something to read, and takes everything.
    struct Endless;

    impl AsyncRead for Endless {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            let length = buffer.remaining().min(5_000);
            buffer.put_slice(&vec![b'x'; length]);
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Endless {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Reads until it has to wait; how much that was.
    fn read_a_turn(stream: &mut Fair<Endless>) -> io::Result<usize> {
        let mut context = Context::from_waker(Waker::noop());
        let mut count = 0;
        loop {
            let mut bytes = [0; 8_192];
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut *stream).poll_read(&mut context, &mut buffer) {
                Poll::Pending => return Ok(count),
                Poll::Ready(read) => read?,
            }
            count += buffer.filled().len();
            assert!(count < 2 * TURN_MAX, "others do not get their turn");
        }
    }

    #[test]
    fn who_always_sends_waits_for_others() {
        let mut stream = Fair::new(Endless);
        for _ in 0..10 {
            let count = read_a_turn(&mut stream).unwrap();
            assert_eq!(count, TURN_MAX);
        }
    }

    #[test]
    fn who_sends_without_being_asked_is_given_up() {
        let mut stream = Fair::new(Endless);
        let mut count = 0;
        let error = loop {
            match read_a_turn(&mut stream) {
                Ok(turn) => count += turn,
                Err(error) => break error,
            }
            assert!(count <= SPEECH_MAX);
        };
        assert!(error.to_string().contains("more than it was asked for"), "{error}");

        // Whoever is asked again and again may say as much as it likes in all.
        let mut stream = Fair::new(Endless);
        let mut count = 0;
        while count < 2 * SPEECH_MAX {
            count += read_a_turn(&mut stream).unwrap();
            let mut context = Context::from_waker(Waker::noop());
            let _ = Pin::new(&mut stream).poll_write(&mut context, b"more");
        }
    }
}
