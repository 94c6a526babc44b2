//! Many futures as one.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use crate::Error;

/// Runs futures in the task of the caller until all of them have ended; the first error.
///
/// Not in tasks of their own: what a handler returns cannot be required to be `Send`, only be found to be.
/// All are polled when one is woken, which is nothing for as many as there are connections.
pub(super) async fn together<O>(futures: Vec<O>) -> Result<(), Error>
where
    O: Future<Output = Result<(), Error>>,
{
    let mut running: Vec<Pin<Box<O>>> = futures.into_iter().map(Box::pin).collect();
    let mut outcome = Ok(());
    poll_fn(|context| {
        running.retain_mut(|future| match future.as_mut().poll(context) {
            Poll::Pending => true,
            Poll::Ready(result) => {
                if outcome.is_ok() {
                    outcome = result;
                }
                false
            }
        });
        if running.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outcome
}
