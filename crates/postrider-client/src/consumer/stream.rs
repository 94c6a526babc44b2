//! Messages as a stream: a page's transaction is open while its messages are processed.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_postgres::Transaction;

use super::message::{Batch, Message};
use super::{BoxError, Consumer};
use crate::Error;
use crate::database::Tls;

/// The messages of a consumer as a [`Stream`]: each *at least once*. See [`Consumer::stream`].
#[derive(Debug)]
pub struct Messages {
    pages: mpsc::Receiver<Page>,
    page: VecDeque<Message>,
    /// To be told when the page has been processed.
    processed: Option<oneshot::Sender<()>>,
    reading: Option<JoinHandle<Result<(), Error>>>,
}

#[derive(Debug)]
struct Page {
    messages: Vec<Message>,
    processed: oneshot::Sender<()>,
}

/// Why a page was rolled back.
#[derive(Debug, thiserror::Error)]
#[error("the stream was dropped before the page was processed")]
struct Dropped;

impl Messages {
    /// Reads in a task of its own, which ends when the stream is dropped.
    pub(super) fn open<T: Tls>(mut consumer: Consumer<T>) -> Self {
        // A second page would wait for the first one, in an open transaction.
        consumer.options.connections = 1;
        let (sender, pages) = mpsc::channel(1);
        let reading = tokio::spawn(async move {
            let is_dropped = sender.clone();
            let hand_over = async move |_: &mut Transaction<'_>, batch: &Batch| {
                let (processed, is_processed) = oneshot::channel();
                let page = Page { messages: batch.to_vec(), processed };
                sender.send(page).await.map_err(|_| Dropped)?;
                is_processed.await.map_err(|_| Dropped)?;
                Ok::<(), BoxError>(())
            };
            consumer.run_until(async move { is_dropped.closed().await }, hand_over).await
        });
        Self { pages, page: VecDeque::new(), processed: None, reading: Some(reading) }
    }

    /// The next message, and the acknowledgement of the page before if it is the first one of a page.
    /// `None` after an error.
    ///
    /// # Errors
    ///
    /// As those of [`Consumer::run`]; the stream has ended then.
    pub async fn next(&mut self) -> Option<Result<Message, Error>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Message, Error>>> {
        loop {
            if let Some(message) = self.page.pop_front() {
                return Poll::Ready(Some(Ok(message)));
            }
            if let Some(processed) = self.processed.take() {
                // Where nobody listens any more the page was lost with its transaction, and comes again.
                let _ = processed.send(());
            }
            match ready!(self.pages.poll_recv(context)) {
                Some(page) => {
                    self.page = page.messages.into();
                    self.processed = Some(page.processed);
                }
                None => return self.poll_end(context),
            }
        }
    }

    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Message, Error>>> {
        let Some(reading) = &mut self.reading else { return Poll::Ready(None) };
        let result = ready!(Pin::new(reading).poll(context));
        self.reading = None;
        Poll::Ready(match result {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Err(error)),
            Err(error) => Some(Err(Error::Database { code: None, source: Box::new(error) })),
        })
    }
}

impl Stream for Messages {
    type Item = Result<Message, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll(context)
    }
}
