//! Who asks: bearer tokens, of which the database keeps hashes.
//!
//! A token is `postrider_<id>_<64 hexadecimal digits>`. The id finds its row, and what follows is compared, hashed, in
//! a time that says nothing about it.

use std::{sync::Arc, time::Duration};

use axum::{extract::FromRequestParts, http::request::Parts};
use clap::ValueEnum;
use http::header;
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};
use subtle::ConstantTimeEq;
use tokio::{sync::mpsc, time::Instant};
use tokio_postgres::Row;
use tracing::debug;

use super::{
    Api, Shared,
    listener::{Arrival, Peer},
    problem::Problem,
    verified::Hash,
};

const KNOWN_TOKEN: &str = include_str!("../../../../sql/queries/access/known_token.sql");
const NOTE_TOKEN_USE: &str = include_str!("../../../../sql/queries/access/note_token_use.sql");

const PREFIX: &str = "postrider_";
/// Random bytes of a token.
const SECRET_BYTES: usize = 32;
/// How long somebody waits for the database who wants to see how this process does.
const WATCH_TIME: Duration = Duration::from_secs(1);
/// How long it may take to note that a token was used.
const NOTE_TIME: Duration = Duration::from_secs(2);
/// So many uses wait to be noted.
pub const USES_MAX: usize = 256;

/// What a token allows: what the database role that belongs to it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Role {
    /// Sees figures, and no payloads.
    Viewer,
    /// Looks after deliveries: pauses, retries, redrives.
    Operator,
    /// Everything.
    Admin,
    /// Sends and publishes, and sees nothing.
    Producer,
}

impl Role {
    /// As it is called here.
    pub fn name(self) -> &'static str {
        match self {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Admin => "admin",
            Role::Producer => "producer",
        }
    }

    /// The role that is called so.
    fn named(name: &str) -> Option<Role> {
        Role::value_variants().iter().copied().find(|role| role.name() == name)
    }

    /// Whether it may see how the service does, as `sql/grants.sql` has it for `metrics`.
    fn may_watch(self) -> bool {
        match self {
            Role::Viewer | Role::Operator | Role::Admin => true,
            Role::Producer => false,
        }
    }
}

/// The secret half of a new token, and its hash.
pub struct Secret {
    digits: String,
    pub hash: Vec<u8>,
}

impl Secret {
    /// `None` where the system has no randomness.
    pub fn generate() -> Option<Secret> {
        let mut bytes = [0; SECRET_BYTES];
        SystemRandom::new().fill(&mut bytes).ok()?;
        let digits = hex::encode(bytes);
        Some(Secret { hash: hash(&digits), digits })
    }

    /// The whole token.
    pub fn token(&self, id: i32) -> String {
        format!("{PREFIX}{id}_{}", self.digits)
    }
}

fn hash(digits: &str) -> Vec<u8> {
    digest(&SHA256, digits.as_bytes()).as_ref().to_vec()
}

/// Id and secret of what is written like a token.
fn parse(token: &str) -> Option<(i32, &str)> {
    let (id, digits) = token.strip_prefix(PREFIX)?.split_once('_')?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_secret = digits.len() == 2 * SECRET_BYTES && digits.bytes().all(is_digit);
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    let id = id.parse().ok().filter(|id: &i32| is_id && *id > 0)?;
    is_secret.then_some((id, digits))
}

/// Who asks, by a token that was verified lately. What it asks for is done only if the token holds then.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The token's id.
    pub token: i32,
    /// Until when what it asks for has to be done, but for the commit.
    pub until: Instant,
    /// What the request is called, in event_log as well.
    pub request_id: Arc<str>,
}

impl FromRequestParts<Api> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Caller, Problem> {
        let presented = Presented::read(parts)?;
        let arrival = parts.extensions.get::<Arrival>().ok_or_else(Problem::internal)?;
        let Arrival { until, request_id } = arrival.clone();
        api.verify(&presented, until).await?;
        Ok(Caller { token: presented.id, until, request_id })
    }
}

/// A token as it was sent.
struct Presented<'a> {
    id: i32,
    digits: &'a str,
    /// Of the whole of it: what it is remembered by.
    hash: Hash,
}

impl Presented<'_> {
    fn read(parts: &Parts) -> Result<Presented<'_>, Problem> {
        let token = bearer(parts).ok_or_else(Problem::unauthorized)?;
        let (id, digits) = parse(token).ok_or_else(Problem::unauthorized)?;
        let mut hash = Hash::default();
        hash.copy_from_slice(digest(&SHA256, token.as_bytes()).as_ref());
        Ok(Presented { id, digits, hash })
    }
}

impl Shared {
    /// The role of a token that was verified lately, or is now.
    async fn verify(&self, presented: &Presented<'_>, until: Instant) -> Result<Role, Problem> {
        let Presented { id, digits, hash: whole } = presented;
        let role = match self.verified.trusted(whole, Instant::now()) {
            Some(role) => role,
            None => {
                let rows = self.pool.ask(until, KNOWN_TOKEN, &[id]).await?;
                let is_meant = |row: &&Row| row.get::<_, &[u8]>(0).ct_eq(&hash(digits)).into();
                let Some(row) = rows.first().filter(is_meant) else {
                    self.verified.forget(whole);
                    return Err(Problem::unauthorized());
                };
                let role = Role::named(row.get(1)).ok_or_else(Problem::internal)?;
                self.verified.keep(*whole, role, Instant::now());
                role
            }
        };
        if self.verified.take_note(whole, Instant::now()) {
            // A full queue has enough to note.
            let _ = self.uses.try_send(*id);
        }
        Ok(role)
    }
}

/// Notes which tokens are used, beside the requests: none waits for it, or fails with it.
pub(super) async fn note_uses(api: Api, mut uses: mpsc::Receiver<i32>) {
    while let Some(id) = uses.recv().await {
        let until = Instant::now() + NOTE_TIME;
        if let Err(problem) = api.pool.ask(until, NOTE_TOKEN_USE, &[&id]).await {
            debug!(token = id, ?problem, "the use of a token is not noted");
        }
    }
}

fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Who may see how this process does: whoever asks from this machine, and whoever has a token whose role may.
pub struct Watcher;

impl FromRequestParts<Api> for Watcher {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Watcher, Problem> {
        let is_local = parts.extensions.get::<Peer>().is_some_and(|peer| peer.is_local);
        if is_local && !is_forwarded(parts) && is_local_name(parts) {
            return Ok(Watcher);
        }
        let presented = Presented::read(parts)?;
        let role = match api.verify(&presented, Instant::now() + WATCH_TIME).await {
            Ok(role) => role,
            Err(problem) => {
                // It is during an outage that somebody has to see, and then all connections may be waiting.
                let is_outage = problem.is_outage() || problem.is_busy() && api.pool.is_silent();
                let outlasts = || api.verified.outlasts(&presented.hash, Instant::now());
                is_outage.then(outlasts).flatten().ok_or(problem)?
            }
        };
        match role.may_watch() {
            true => Ok(Watcher),
            false => Err(Problem::forbidden(format!(
                "A token with role {} may not see how this process does.",
                role.name()
            ))),
        }
    }
}

/// Whether it comes by way of something else.
fn is_forwarded(parts: &Parts) -> bool {
    ["forwarded", "x-forwarded-for", "x-real-ip", "via"]
        .iter()
        .any(|name| parts.headers.contains_key(*name))
}

/// Whether it was addressed to this machine: pages of others, in a browser here, that let their own name point to it, ask
/// for that name.
fn is_local_name(parts: &Parts) -> bool {
    let Some(host) = parts.headers.get(header::HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_loopback =
        name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback());
    name.eq_ignore_ascii_case("localhost") || is_loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_made_and_nothing_else_is_one() {
        let secret = Secret::generate().unwrap();
        let token = secret.token(17);
        let (id, digits) = parse(&token).unwrap();
        assert_eq!((id, hash(digits)), (17, secret.hash.clone()));
        assert_ne!(Secret::generate().unwrap().hash, secret.hash);
        let digits = &secret.digits;
        for wrong in [
            String::new(),
            digits.clone(),
            format!("postrider_{digits}"),
            format!("postrider_0_{digits}"),
            format!("postrider_+1_{digits}"),
            format!("postrider_-1_{digits}"),
            format!("postrider_2147483648_{digits}"),
            format!("postrider_1_{digits}0"),
            format!("postrider_1_{}", &digits[1..]),
            format!("postrider_1_{}", "G".repeat(64)),
            format!("postrider_1_{}", "A".repeat(64)),
            format!("Postrider_1_{digits}"),
        ] {
            assert_eq!(parse(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_local() {
        let is_local = |host: &str| {
            let request = http::Request::builder().header("host", host).body(()).unwrap();
            is_local_name(&request.into_parts().0)
        };
        for host in
            ["localhost", "LOCALHOST:8780", "127.0.0.1:8780", "127.9.9.9", "[::1]:8780", "[::1]"]
        {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:8780", "10.0.0.1", "[::2]:1", ""] {
            assert!(!is_local(host), "{host}");
        }
    }
}
