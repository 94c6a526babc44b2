//! The one way to connect to the database.
//!
//! Guarantees: every wait has an end, a connection that died silently is noticed (TCP keepalives
//! and user timeout), the connection is always drained, so that a slow reader of notifications never
//! holds up the server, and no error shows a password.
//!
//! TLS follows `sslmode`, and a certificate authority that is named turns `prefer` into `require`. `disable`: none. `prefer` (the default): where the server offers it, and
//! without looking at its certificate, because whoever
//! could forge a certificate could as well say that there is no TLS. `require`, `verify-ca`,
//! `verify-full`: always, with a certificate for the host's name by an authority that the system,
//! Mozilla, or the operator trusts.

use std::{
    fmt,
    future::poll_fn,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use tokio::{
    sync::{broadcast, watch},
    task::AbortHandle,
};
use tokio_postgres::{
    AsyncMessage, CancelToken, Client, Config, Connection, Notification,
    config::{Host, SslMode},
    error::DbError,
};
use tokio_postgres_rustls::MakeRustlsConnect;
use tracing::debug;

/// How long connecting to one host may take, unless the URL says `connect_timeout`.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long TLS and authentication may take on top of that.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(10);
/// When a silent connection is probed first, how often then, and how many probes may stay
/// unanswered.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 3;
/// How long what we sent may stay unacknowledged.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);
/// What `tokio_postgres` assumes where the URL says nothing.
const KEEPALIVE_IDLE_UNSET: Duration = Duration::from_secs(2 * 60 * 60);
/// How many notifications are kept for a reader; one that is further behind is told so.
const NOTIFICATIONS_MAX: usize = 1_024;
/// How many of the server's notices are kept for a reader.
const NOTICES_MAX: usize = 64;

/// Where the database is: a URL (`postgres://user:password@host:port/database?sslmode=require`) or
/// keywords (`host=… dbname=…`). It may hold a password, so it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Takes the text as it is; [`Connector::new`] reads it.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The text, password included: for handing it on, not for showing it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatabaseUrl(…)")
    }
}

/// Why there is no connection. Never shows a password.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The URL cannot be understood.
    #[error("database_url is neither a PostgreSQL URL nor keywords and values: {reason}")]
    Url {
        /// What is wrong with it.
        reason: String,
    },
    /// The file with the certificate authorities cannot be used.
    #[error("database_ca_file {} cannot be used: {reason}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The server did not answer in time.
    #[error("could not connect to {target} within {after:?}")]
    Timeout {
        /// Database, role and hosts.
        target: String,
        /// How long we waited.
        after: Duration,
    },
    /// The server cannot be reached, or refused.
    #[error("could not connect to {target}")]
    Refused {
        /// Database, role and hosts.
        target: String,
        /// Why.
        source: tokio_postgres::Error,
    },
}

impl ConnectError {
    /// Whether trying again cannot help: what we were told is wrong, not the world.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Url { .. } | Self::CaFile { .. })
    }

    /// Whether a server that was there ends or is starting. One that nobody listens for is none.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Refused { source, .. } if super::is_outage(source))
    }

    /// Whether a server that was there cannot be reached any more; one that has refused us can.
    pub fn is_loss(&self) -> bool {
        match self {
            Self::Timeout { .. } => true,
            Self::Refused { source, .. } => super::is_loss(source),
            Self::Url { .. } | Self::CaFile { .. } => false,
        }
    }
}

/// Makes connections to one database.
#[derive(Clone)]
pub struct Connector {
    config: Config,
    tls: MakeRustlsConnect,
    target: String,
    timeout: Duration,
}

/// A connection and what comes with it.
pub struct Session {
    /// The connection.
    pub client: Client,
    /// Tells when it is lost.
    pub lost: Lost,
    /// What channels that are listened to say. Reading it is not required; a reader that falls
    /// behind by more than 1,024 gets `RecvError::Lagged`.
    pub notifications: broadcast::Receiver<Notification>,
    /// Notices and warnings of the server.
    pub notices: broadcast::Receiver<DbError>,
    /// What carries the connection.
    carrier: AbortHandle,
}

impl Session {
    /// Ends the connection at once, whatever is under way. One that is only dropped waits for the answer first.
    pub fn sever(self) {
        self.carrier.abort();
    }
}

/// Tells when a connection is lost, and why.
#[derive(Debug, Clone)]
pub struct Lost(watch::Receiver<Option<Arc<str>>>);

impl Lost {
    /// Why the connection is lost; `None` while it is not known to be.
    pub fn reason(&self) -> Option<Arc<str>> {
        let reason = self.0.borrow().clone();
        reason.or_else(|| self.0.has_changed().is_err().then(|| "the runtime has ended".into()))
    }

    /// Waits until the connection is lost.
    pub async fn wait(&mut self) -> Arc<str> {
        let reason = self.0.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
        reason.unwrap_or_else(|| "the runtime has ended".into())
    }
}

impl Connector {
    /// Understands the URL and loads the certificate authorities. Does not connect.
    ///
    /// `application_name` is what `pg_stat_activity` shows.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Url`] and [`ConnectError::CaFile`].
    pub fn new(
        url: &DatabaseUrl,
        ca_file: Option<&Path>,
        application_name: &str,
    ) -> Result<Self, ConnectError> {
        let mut config = parse(url)?;
        config.application_name(application_name);
        if let Some(path) = ca_file {
            verify(&mut config, path)?;
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_keepalives_idle() == KEEPALIVE_IDLE_UNSET {
            config.keepalives_idle(KEEPALIVE_IDLE);
        }
        if config.get_keepalives_interval().is_none() {
            config.keepalives_interval(KEEPALIVE_INTERVAL);
        }
        if config.get_keepalives_retries().is_none() {
            config.keepalives_retries(KEEPALIVE_RETRIES);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(TCP_USER_TIMEOUT);
        }

        let host_count = config.get_hosts().len().max(config.get_hostaddrs().len()).max(1) as u32;
        let per_host = config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        let is_verified = config.get_ssl_mode() != SslMode::Prefer || ca_file.is_some();
        let tls = if is_verified { verifying(ca_file)? } else { trusting() };
        Ok(Self {
            target: describe(&config),
            timeout: (per_host + LOGIN_TIMEOUT) * host_count,
            tls: MakeRustlsConnect::new(tls),
            config,
        })
    }

    /// The same database under another name in `pg_stat_activity`.
    #[must_use]
    pub fn named(&self, application_name: &str) -> Self {
        let mut other = self.clone();
        other.config.application_name(application_name);
        other
    }

    /// What our crate for applications connects with.
    pub fn into_parts(self) -> (Config, MakeRustlsConnect) {
        (self.config, self.tls)
    }

    /// Database, role and hosts, for people. No password.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Connects. The task that drains the connection is spawned on the current runtime and ends with
    /// the client or the connection.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Timeout`] and [`ConnectError::Refused`].
    pub async fn connect(&self) -> Result<Session, ConnectError> {
        let connecting = self.config.connect(self.tls.clone());
        let (client, connection) = match tokio::time::timeout(self.timeout, connecting).await {
            Ok(Ok(connected)) => connected,
            Ok(Err(source)) => {
                return Err(ConnectError::Refused { target: self.target.clone(), source });
            }
            Err(_) => {
                return Err(ConnectError::Timeout {
                    target: self.target.clone(),
                    after: self.timeout,
                });
            }
        };
        let (lost_sender, lost) = watch::channel(None);
        let (notification_sender, notifications) = broadcast::channel(NOTIFICATIONS_MAX);
        let (notice_sender, notices) = broadcast::channel(NOTICES_MAX);
        let carrying = tokio::spawn(async move {
            let reason = drain(connection, &notification_sender, &notice_sender).await;
            // Nobody may be interested any more.
            let _ = lost_sender.send(Some(reason.into()));
        });
        let carrier = carrying.abort_handle();
        Ok(Session { client, lost: Lost(lost), notifications, notices, carrier })
    }

    /// Asks the server to give up what the connection of this token is doing. Nobody hears whether it does.
    ///
    /// # Errors
    ///
    /// When the server cannot be asked.
    pub async fn cancel(&self, token: CancelToken) -> Result<(), tokio_postgres::Error> {
        token.cancel_query(self.tls.clone()).await
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("target", &self.target).finish_non_exhaustive()
    }
}

/// Reads from the connection until it ends; says why it did.
async fn drain<S, T>(
    mut connection: Connection<S, T>,
    notifications: &broadcast::Sender<Notification>,
    notices: &broadcast::Sender<DbError>,
) -> String
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    T: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            // A send fails when nobody listens, which is fine.
            Some(Ok(AsyncMessage::Notification(notification))) => {
                let _ = notifications.send(notification);
            }
            Some(Ok(AsyncMessage::Notice(notice))) => {
                debug!(severity = notice.severity(), text = notice.message(), "server notice");
                let _ = notices.send(notice);
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => return error_text(&error),
            None => return "closed".to_owned(),
        }
    }
}

/// An error of the database for people: what the server said, or the chain of causes.
pub fn error_text(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        let mut text = error.message().to_owned();
        for (label, more) in [("detail", error.detail()), ("hint", error.hint())] {
            if let Some(more) = more {
                text.push_str(&format!("\n{label}: {more}"));
            }
        }
        return text;
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// Whoever names an authority wants its word: no server without TLS will do, except by a socket of this
/// machine.
fn verify(config: &mut Config, ca_file: &Path) -> Result<(), ConnectError> {
    let is_tcp = |host: &Host| matches!(host, Host::Tcp(_));
    let is_remote = !config.get_hostaddrs().is_empty() || config.get_hosts().iter().any(is_tcp);
    match config.get_ssl_mode() {
        _ if !is_remote => Ok(()),
        SslMode::Disable => Err(ConnectError::CaFile {
            path: ca_file.to_owned(),
            reason: "sslmode=disable asks for no TLS at all".to_owned(),
        }),
        _ => {
            config.ssl_mode(SslMode::Require);
            Ok(())
        }
    }
}

fn parse(url: &DatabaseUrl) -> Result<Config, ConnectError> {
    let config = read(url.expose())?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(ConnectError::Url { reason: "it names no host".to_owned() });
    }
    Ok(config)
}

/// Reads the URL. `verify-ca` and `verify-full` are what `require` means here.
///
/// # Errors
///
/// [`ConnectError::Url`].
pub(crate) fn read(url: &str) -> Result<Config, ConnectError> {
    let text = url.trim();
    // What is before the first @ would count as the password, and the rest of it as the host's name,
    // which is shown.
    let (before, behind) = text.split_once('@').unwrap_or_default();
    let rest = before.split_once("://").map_or("", |(_, rest)| rest);
    if is_url(text) && (behind.contains('@') || rest.contains(['/', '?'])) {
        let reason = "an @ in a user's name or a password has to be written as %40, a / as %2F, \
                      a ? as %3F; and an @ behind the host's name as %40"
            .to_owned();
        return Err(ConnectError::Url { reason });
    }
    let text = text.replace("sslmode=verify-full", "sslmode=require");
    let text = text.replace("sslmode=verify-ca", "sslmode=require");
    text.parse().map_err(|error: tokio_postgres::Error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let cause = cause.unwrap_or_default();
        // Of the other texts some repeat a piece of the URL, which may be a piece of the password.
        let reason = if cause.starts_with("invalid value for option") {
            cause
        } else if cause.starts_with("unknown option") {
            "it has an option that is not known here (a file with certificate authorities is given \
             as database_ca_file)"
                .to_owned()
        } else {
            "special characters in a password have to be written as %XX in a URL, or in quotes \
             after a keyword"
                .to_owned()
        };
        ConnectError::Url { reason }
    })
}

/// Whether it is a URL, and not keywords and values.
pub(crate) fn is_url(text: &str) -> bool {
    let text = text.trim_start();
    ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme))
}

fn describe(config: &Config) -> String {
    let user = config.get_user().unwrap_or("(of the system)");
    let database = config.get_dbname().unwrap_or(user);
    let ports = config.get_ports();
    let host = |index: usize, host: &Host| {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        match host {
            Host::Tcp(name) => format!("{name}:{port}"),
            #[cfg(unix)]
            Host::Unix(folder) => format!("{}:{port}", folder.display()),
        }
    };
    let mut hosts: Vec<_> =
        config.get_hosts().iter().enumerate().map(|(index, name)| host(index, name)).collect();
    if hosts.is_empty() {
        hosts = config.get_hostaddrs().iter().map(ToString::to_string).collect();
    }
    format!("database \"{database}\" on {} as role \"{user}\"", hosts.join(", "))
}

/// TLS that accepts only a certificate that is valid for the host.
fn verifying(ca_file: Option<&Path>) -> Result<ClientConfig, ConnectError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    // A certificate of the system that cannot be read is one that is not trusted.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = ca_file {
        let failed = |reason| ConnectError::CaFile { path: path.to_owned(), reason };
        trust(&mut roots, path).map_err(failed)?;
    }
    Ok(builder().with_root_certificates(roots).with_no_client_auth())
}

/// Trusts the certificate authorities in a PEM file, too. Fails with what is wrong with the file.
pub fn trust(roots: &mut RootCertStore, path: &Path) -> Result<(), String> {
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(|error| error.to_string())?;
    if certificates.is_empty() {
        return Err("it holds no certificate".to_owned());
    }
    let mut certificates = certificates.into_iter();
    certificates
        .try_for_each(|certificate| roots.add(certificate))
        .map_err(|error| error.to_string())
}

/// TLS that accepts every certificate.
fn trusting() -> ClientConfig {
    let verifier = Arc::new(AnyCertificate(Arc::new(ring::default_provider())));
    builder().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
}

fn builder() -> rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier> {
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring offers the cipher suites of TLS 1.2 and 1.3")
}

/// Accepts every certificate, but only from who holds its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connector(url: &str) -> Result<Connector, ConnectError> {
        Connector::new(&DatabaseUrl::new(url), None, "test")
    }

    #[test]
    fn no_error_shows_the_password() {
        for url in [
            "postgres://u:s3cr/et@host/db?x=s3cret",
            "postgres://u:s3cret@host:port/db",
            "postgres://u:s3cret@host/db?sslmode=s3cret",
            "postgres://u:s3cret@host/db?s3cret=x",
            "host=h password=s3cret s3cret",
            "host=h password='s3cret",
            "mysql://u:s3cret@host/db",
            "user=u password=s3cret",
            "postgres://u:p@s3cret@host/db",
            "postgres://u:p@s3cret/x@host/db",
            "postgresql://u@s3cret:p@host/db?sslmode=require",
            "postgres://u:p?x@s3cret@host/db",
            "postgres://u:s3cr?et@host/db",
            "postgres://u:p@host/db?options=x@s3cret",
            "postgres://host/db?options=s3cret@x",
        ] {
            let error = connector(url).expect_err(url);
            let text = format!("{error} {error:?} {:?}", DatabaseUrl::new(url));
            assert!(!text.contains("s3cr"), "{url}: {text}");
            assert!(error.is_configuration());
        }
    }

    #[test]
    fn the_target_is_described_without_the_password() {
        let connector = connector("postgres://shop:s3cret@one:1,two:2/orders?sslmode=verify-full");
        let connector = connector.unwrap();
        assert_eq!(connector.target(), "database \"orders\" on one:1, two:2 as role \"shop\"");
        assert!(!format!("{connector:?}").contains("s3cret"));
        assert_eq!(connector.config.get_ssl_mode(), SslMode::Require);
    }

    #[test]
    fn a_ca_file_means_verification() {
        let path = std::env::temp_dir().join(format!("postrider-ca-{}.pem", fastrand::u64(..)));
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::default().self_signed(&key).unwrap();
        std::fs::write(&path, certificate.pem()).unwrap();
        let mode = |url: &str| {
            let connector = Connector::new(&DatabaseUrl::new(url), Some(&path), "test")?;
            Ok::<_, ConnectError>(connector.config.get_ssl_mode())
        };
        for url in ["host=h", "host=h sslmode=prefer", "host=h sslmode=require", "hostaddr=::1"] {
            assert_eq!(mode(url).unwrap(), SslMode::Require, "{url}");
        }
        assert_eq!(mode("host=/tmp").unwrap(), SslMode::Prefer);
        let error = mode("host=h sslmode=disable").unwrap_err();
        assert!(error.is_configuration() && error.to_string().contains("sslmode=disable"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn what_the_url_says_about_waits_holds() {
        let connector = connector("postgres://h/db?connect_timeout=1&keepalives_idle=7").unwrap();
        assert_eq!(connector.config.get_connect_timeout(), Some(&Duration::from_secs(1)));
        assert_eq!(connector.config.get_keepalives_idle(), Duration::from_secs(7));
        assert_eq!(connector.timeout, Duration::from_secs(11));
    }

    #[test]
    fn a_ca_file_without_a_certificate_is_refused() {
        let file = std::env::current_exe().unwrap();
        let url = DatabaseUrl::new("postgres://h/db");
        for path in [file.as_path(), Path::new("/nowhere.pem")] {
            let error = Connector::new(&url, Some(path), "test").unwrap_err();
            assert!(matches!(error, ConnectError::CaFile { .. }), "{error}");
        }
    }
}
