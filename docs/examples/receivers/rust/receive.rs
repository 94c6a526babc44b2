//! Receives webhooks: verifies them, recognises repeats, and answers before it works.
//!
//! WEBHOOK_KEYS has the keys, whsec_…, separated by spaces: two while they are rotated. PORT is where it listens.
//! With GONE=1 it wants no more webhooks, for good. Uses standardwebhooks, hyper, hyper-util, http-body-util and tokio.

use std::collections::{HashSet, VecDeque};
use std::convert::Infallible;
use std::error::Error;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use standardwebhooks::Webhook;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

const MAX_BYTES: usize = 1 << 20;
const MAX_IDS: usize = 100_000;

/// In a service with a database: insert the id into a table, in the transaction that stores the message.
#[derive(Default)]
struct Seen {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl Seen {
    fn is_new(&mut self, id: &str) -> bool {
        if !self.ids.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > MAX_IDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

pub struct Receiver {
    webhooks: Vec<Webhook>,
    is_gone: bool,
    seen: Mutex<Seen>,
    /// Its other end does the work.
    work: mpsc::Sender<String>,
}

impl Receiver {
    pub fn new(
        keys: &str,
        is_gone: bool,
        work: mpsc::Sender<String>,
    ) -> Result<Self, Box<dyn Error>> {
        let webhooks = keys.split(' ').map(Webhook::new).collect::<Result<_, _>>()?;
        Ok(Self { webhooks, is_gone, seen: Mutex::default(), work })
    }

    async fn receive(&self, request: Request<Incoming>) -> StatusCode {
        let (head, body) = request.into_parts();
        // The bytes as they came: JSON that was read and written again is another text.
        let Ok(body) = Limited::new(body, MAX_BYTES).collect().await else {
            return StatusCode::PAYLOAD_TOO_LARGE;
        };
        let body = body.to_bytes();
        if self.is_gone {
            return StatusCode::GONE;
        }
        // One of our keys signed it, not more than five minutes ago.
        let is_genuine =
            self.webhooks.iter().any(|webhook| webhook.verify(&body, &head.headers).is_ok());
        let id = head.headers.get("webhook-id").and_then(|id| id.to_str().ok());
        let (true, Some(id)) = (is_genuine, id) else { return StatusCode::UNAUTHORIZED };
        // Room for it first: what is remembered is also done.
        let Ok(room) = self.work.reserve().await else { return StatusCode::SERVICE_UNAVAILABLE };
        if self.seen.lock().expect("nothing panics with it").is_new(id) {
            room.send(format!("received {id} {}", String::from_utf8_lossy(&body)));
        }
        StatusCode::NO_CONTENT
    }

    pub async fn serve(self: Arc<Self>, listener: TcpListener) {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let receiver = Arc::clone(&self);
            tokio::spawn(async move {
                let service = service_fn(|request| async {
                    let mut response = Response::new(Empty::<Bytes>::new());
                    *response.status_mut() = receiver.receive(request).await;
                    Ok::<_, Infallible>(response)
                });
                // A sender may leave whenever it wants.
                let _ = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (work, mut to_do) = mpsc::channel(1000);
    let is_gone = std::env::var("GONE").is_ok_and(|gone| gone == "1");
    let receiver = Receiver::new(&std::env::var("WEBHOOK_KEYS")?, is_gone, work)?;
    let port = std::env::var("PORT")?.parse()?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening");
    tokio::spawn(Arc::new(receiver).serve(listener));
    while let Some(line) = to_do.recv().await {
        println!("{line}");
    }
    Ok(())
}
