//! `postrider listen`: a receiver on one's own machine.

use std::{
    collections::HashMap,
    convert::Infallible,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header::RETRY_AFTER};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use postrider_core::signing::{self, VerifyError, VerifyingKey};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use super::{Failure, output::Output};

/// The longest body that is taken, in bytes.
const BODY_MAX: usize = 16 << 20;

/// How many ids are remembered for --fail.
const IDS_MAX: usize = 100_000;

/// Receive messages on this machine, show them and answer
///
/// For trying things out: it needs no database, listens on the loopback address unless --bind says otherwise, and
/// goes on until Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  postrider listen 9000
  postrider listen 9000 --status 503
  postrider listen 9000 --fail 2 --delay 0.5
  postrider listen 9000 --verify whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]
pub struct Listen {
    /// The port; 0 takes a free one
    port: u16,
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// The status of each answer
    #[arg(long, default_value = "200", value_parser = parse_status)]
    status: StatusCode,
    /// Answer the first so many requests with the same webhook-id with 503
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    fail: u32,
    /// Wait so many seconds before each answer
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = parse_seconds)]
    delay: Duration,
    /// Verify signatures with this key, whsec_… or whpk_…, and answer 401 to what it has not signed; can be given
    /// more than once
    #[arg(
        long,
        value_name = "KEY",
        env = "POSTRIDER_VERIFY",
        hide_env_values = true,
        value_delimiter = ' '
    )]
    verify: Vec<String>,
}

/// What an answer depends on.
struct Receiver {
    status: StatusCode,
    fail: u32,
    delay: Duration,
    /// None: nothing is verified.
    keys: Option<Vec<VerifyingKey>>,
    /// How many requests of each id have been answered with a failure.
    failed: Mutex<HashMap<String, u32>>,
    output: Output,
}

fn parse_status(text: &str) -> Result<StatusCode, String> {
    let status = text.parse().ok().filter(|status: &StatusCode| !status.is_informational());
    status.filter(|status| status.as_u16() < 600).ok_or_else(|| "a status is 200 to 599".to_owned())
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "0 to 3600 seconds".to_owned())
}

impl Listen {
    pub async fn run(&self, output: Output) -> Result<(), Failure> {
        let parse = |key: &String| VerifyingKey::parse(key);
        let keys: Result<Vec<_>, _> = self.verify.iter().map(parse).collect();
        let keys = keys.map_err(|error| Failure::Usage(format!("--verify: {error}")))?;
        let address = SocketAddr::new(self.bind, self.port);
        let failed = |error| Failure::Failed(format!("cannot listen on {address}: {error}"));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        output.notice(&format!("listening on http://{address}/"));
        let receiver = Arc::new(Receiver {
            status: self.status,
            fail: self.fail,
            delay: self.delay,
            keys: (!keys.is_empty()).then_some(keys),
            failed: Mutex::default(),
            output,
        });
        let accepting = async {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(Arc::clone(&receiver).serve(stream))),
                    // Of a connection it is its own matter; too many open ones take a moment to go.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                }
            }
        };
        tokio::select! {
            () = accepting => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        Ok(())
    }
}

impl Receiver {
    async fn serve(self: Arc<Self>, stream: TcpStream) {
        let service = service_fn(|request| {
            let receiver = Arc::clone(&self);
            async move { Ok::<_, Infallible>(receiver.answer(request).await) }
        });
        // A sender may leave whenever it wants.
        let _ = http1::Builder::new()
            .timer(TokioTimer::new())
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let mut response = Response::new(Full::default());
        let Ok(body) = Limited::new(body, BODY_MAX).collect().await else {
            *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
            return response;
        };
        let body = body.to_bytes();
        let verified = self.keys.as_ref().map(|keys| verify(keys, &head.headers, &body));
        let status = match verified {
            Some(Err(_)) => StatusCode::UNAUTHORIZED,
            _ if self.is_to_fail(&head.headers) => StatusCode::SERVICE_UNAVAILABLE,
            _ => self.status,
        };
        self.show(&head, &body, verified, status);
        tokio::time::sleep(self.delay).await;
        *response.status_mut() = status;
        if status == StatusCode::TOO_MANY_REQUESTS {
            response.headers_mut().insert(RETRY_AFTER, 1.into());
        }
        response
    }

    fn is_to_fail(&self, headers: &HeaderMap) -> bool {
        if self.fail == 0 {
            return false;
        }
        let id = text(headers, "webhook-id").unwrap_or_default().to_owned();
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.len() >= IDS_MAX {
            failed.clear();
        }
        let count = failed.entry(id).or_default();
        *count = count.saturating_add(1);
        *count <= self.fail
    }

    fn show(
        &self,
        head: &http::request::Parts,
        body: &Bytes,
        verified: Option<Result<(), VerifyError>>,
        status: StatusCode,
    ) {
        let headers: serde_json::Map<String, Value> = head
            .headers
            .iter()
            .map(|(name, value)| {
                (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into())
            })
            .collect();
        let shown = String::from_utf8_lossy(body);
        let verdict = match verified {
            None => "not verified".to_owned(),
            Some(Ok(())) => "verified".to_owned(),
            Some(Err(error)) => format!("REFUSED: {error}"),
        };
        let object = json!({
            "method": head.method.as_str(),
            "path": head.uri.to_string(),
            "status": status.as_u16(),
            "is_verified": verified.map(|verified| verified.is_ok()),
            "error": verified.and_then(Result::err).map(|error| error.to_string()),
            "headers": headers,
            "body": shown,
        });
        let of = |name| text(&head.headers, name).unwrap_or("-").to_owned();
        let fields = [
            of("webhook-id"),
            format!("attempt {}", of("postrider-attempt")),
            status.as_u16().to_string(),
            verdict,
        ];
        self.output.line(&object.to_string(), &fields, &shown);
    }
}

fn verify(keys: &[VerifyingKey], headers: &HeaderMap, body: &[u8]) -> Result<(), VerifyError> {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    signing::verify(
        keys,
        text(headers, "webhook-id"),
        text(headers, "webhook-timestamp"),
        text(headers, "webhook-signature"),
        body,
        since_1970.map_or(0, |time| time.as_secs() as i64),
    )
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
