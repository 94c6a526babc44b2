//! Tokens for the requests of an endpoint: fetched past the guard, kept in the process, renewed once for all.
//!
//! How long one is used and what a 401 means is decided in the core (`auth::oauth`). A fetch is a task of its own with a
//! limit of its own, so that whoever waits for it can go when its time is over, and the others still get the token.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt, future};
use http::{
    HeaderValue, Method, Request, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT},
    uri::Scheme,
};
use http_body_util::{BodyExt, Limited};
use hyper_util::{
    client::legacy::{Client, ResponseFuture, connect::capture_connection},
    rt::{TokioExecutor, TokioTimer},
};
use postrider_core::auth::oauth::{self, ANSWER_MAX, Refusal, Standing, Token, TokenError, Tokens};
use tokio::time::{Instant, timeout, timeout_at};
use uuid::Uuid;

use super::{
    BODY_TIMEOUT, PING_INTERVAL, PING_TIMEOUT, Shared,
    body::{Payload, Unsent},
    dial::{Dial, Route},
    egress::Way,
    failure, now,
    tls::Tls,
};
use crate::guard::Rule;

/// How long nobody asks again after a failure: what waits meanwhile fails by it too.
const FAILURE_AGE: Duration = Duration::from_secs(1);

/// There is no token.
#[derive(Debug)]
pub struct NoToken {
    pub error: TokenError,
    /// Whether somebody else asked for it: the failure is told once, by whoever asked.
    pub is_anothers: bool,
}

/// Where an endpoint's tokens come from.
pub struct TokenSource {
    client: oauth::Client,
    url: Uri,
    connect_timeout: Option<Duration>,
    way: Way,
    shared: Arc<Shared>,
    began_at: Instant,
    state: Mutex<State>,
}

type Fetch = future::Shared<Pin<Box<dyn Future<Output = Result<Token, TokenError>> + Send>>>;

#[derive(Default)]
struct State {
    tokens: Tokens,
    fetch: Option<Fetch>,
    failed: Option<(Instant, TokenError)>,
}

impl TokenSource {
    /// Asks nothing yet.
    pub fn new(
        client: oauth::Client,
        connect_timeout: Option<Duration>,
        way: Way,
        shared: &Arc<Shared>,
    ) -> Arc<Self> {
        let url = client.token_url.parse().expect("checked");
        let (shared, state) = (Arc::clone(shared), Mutex::default());
        Arc::new(Self {
            client,
            url,
            connect_timeout,
            way,
            shared,
            began_at: Instant::now(),
            state,
        })
    }

    /// A token to send a request with, waited for until then at most. One that was waited for is given whatever its life.
    ///
    /// # Errors
    ///
    /// Why there is none.
    pub async fn token(self: &Arc<Self>, until: Instant) -> Result<Token, NoToken> {
        let (fetch, is_anothers) = {
            let mut state = self.state();
            match state.tokens.standing(self.began_at.elapsed()) {
                Standing::Good(token) => return Ok(token),
                Standing::Due(token) => {
                    // If it fails, there is time for another one.
                    let _ = self.fetch(&mut state);
                    return Ok(token);
                }
                Standing::Nothing => self.fetch(&mut state)?,
            }
        };
        let late = |_| TokenError::NoAnswer("timeout: it came too late".to_owned());
        let token = timeout_at(until, fetch).await.map_err(late).flatten();
        token.map_err(|error| NoToken { error, is_anothers })
    }

    /// What an answer with this status says about the token of its request.
    pub fn note(&self, token: &Token, status: i32) -> Option<Refusal> {
        let now = self.began_at.elapsed();
        let tokens = &mut self.state().tokens;
        if status == 401 {
            return Some(tokens.note_refused(token.generation, now));
        }
        tokens.note_accepted(token.generation);
        None
    }

    /// The fetch that is under way, which is another's, or a new one.
    fn fetch(self: &Arc<Self>, state: &mut State) -> Result<(Fetch, bool), NoToken> {
        // One that broke off has left itself behind.
        if let Some(fetch) = &state.fetch
            && fetch.peek().is_none()
        {
            return Ok((fetch.clone(), true));
        }
        if let Some((at, error)) = &state.failed
            && at.elapsed() < FAILURE_AGE
        {
            return Err(NoToken { error: error.clone(), is_anothers: true });
        }
        let source = Arc::clone(self);
        let task = tokio::spawn(async move { source.renew().await });
        let ended = |result: Result<_, _>| {
            result.unwrap_or_else(|_| Err(TokenError::NoAnswer("given up".to_owned())))
        };
        let fetch: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(task.map(ended));
        let fetch = fetch.shared();
        state.fetch = Some(fetch.clone());
        Ok((fetch, false))
    }

    async fn renew(&self) -> Result<Token, TokenError> {
        let asked_at = self.began_at.elapsed();
        let settings = self.shared.settings();
        let connect_timeout = self.connect_timeout.unwrap_or(settings.http_connect_timeout);
        let limit = connect_timeout + settings.http_timeout;
        let answer = self.ask(limit).await;
        let mut state = self.state();
        state.fetch = None;
        match answer {
            Ok((value, life)) => {
                state.failed = None;
                Ok(state.tokens.take(value, life, asked_at))
            }
            Err(error) => {
                state.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    /// One question to the token endpoint, on a connection of its own. Redirects are not followed.
    async fn ask(&self, limit: Duration) -> Result<(HeaderValue, Duration), TokenError> {
        let settings = self.shared.settings();
        let rule = Rule {
            allowed: Arc::clone(&settings.internal_destinations),
            has_plain_secrets: self.url.scheme() == Some(&Scheme::HTTP),
        };
        let counted = self.shared.idle().count(|| ());
        // Whoever gives tokens need not be who takes messages: what `tls` says is not for it.
        let route = Route { tls: Tls::usual(&self.shared), way: self.way.clone() };
        let counting = Arc::clone(&counted);
        let dial = Dial::new(rule, self.connect_timeout, &self.shared, counting, &route);
        let client: Client<Dial, Payload> = Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_max_idle_per_host(0)
            .http2_keep_alive_interval(PING_INTERVAL)
            .http2_keep_alive_timeout(PING_TIMEOUT)
            .build(dial);
        let (mut request, unsent) = self.question()?;
        let line = capture_connection(&mut request);
        let _in_use = counted.begin();
        let answer = timeout(limit, read(client.request(request))).await;
        // Nobody else uses the connection, so it may end as soon as one whose answer takes too long.
        unsent.leave(&line, BODY_TIMEOUT);
        let late = |_| {
            TokenError::NoAnswer(format!("timeout: no answer within {} s", limit.as_secs_f32()))
        };
        answer.map_err(late).flatten()
    }

    fn question(&self) -> Result<(Request<Payload>, Unsent), TokenError> {
        let nonce = Uuid::new_v4().to_string();
        let question = self.client.question(now(), &nonce)?;
        let (body, unsent) = Payload::new(Bytes::from(question.body), Arc::new(OnceLock::new()));
        let mut request = Request::new(body);
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(super::USER_AGENT));
        if let Some(authorization) = question.authorization {
            headers.insert(AUTHORIZATION, authorization);
        }
        Ok((request, unsent))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The token in an answer, and how long it lives.
async fn read(answer: ResponseFuture) -> Result<(HeaderValue, Duration), TokenError> {
    let answer = answer.await.map_err(|error| TokenError::NoAnswer(failure::describe(&error)))?;
    let status = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), ANSWER_MAX).collect().await;
    let what = "a body that is too long or was cut off";
    let body = body.map_err(|_| TokenError::Odd { status, what })?;
    oauth::read(status, &body.to_bytes())
}
