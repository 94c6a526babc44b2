//! Where RabbitMQ is, and the one way to connect to it.
//!
//! Guarantees: no error shows a password, and a connection that died silently is noticed by heartbeats.
//! With `amqps://` the certificate has to be valid for the host, by an authority that Mozilla or the
//! operator trusts.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
    time::Duration,
};

use lapin::{Connection, ConnectionProperties, tcp::OwnedTLSConfig, uri::AMQPUri};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::BrokerError;

/// How long connecting may take, TLS and login included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How often both sides say that they live, in seconds, unless the URL says `heartbeat`.
const HEARTBEAT: u16 = 10;

/// The URL of a RabbitMQ: `amqp://user:password@host:port/virtual%20host`. It may hold a password, so it
/// is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct AmqpUrl(String);

impl AmqpUrl {
    /// Takes the text as it is; [`Address::new`] reads it.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// The text, password included: for handing it on, not for showing it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AmqpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AmqpUrl(…)")
    }
}

/// Why the address cannot be used. Never shows a password.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// The URL cannot be understood.
    #[error(
        "amqp_url must be of the form amqp://user:password@host:port/virtual_host (amqps:// for TLS), \
         with special characters written as %XX"
    )]
    Url,
    /// The file with the certificate authorities cannot be read.
    #[error("amqp_ca_file {} cannot be used: {reason}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Where RabbitMQ is.
#[derive(Clone)]
pub struct Address {
    uri: AMQPUri,
    authorities: Option<String>,
    target: String,
}

impl Address {
    /// Understands the URL and reads the certificate authorities. Does not connect.
    ///
    /// # Errors
    ///
    /// What is wrong with either.
    pub fn new(url: &AmqpUrl, ca_file: Option<&Path>) -> Result<Address, AddressError> {
        // Its own text may repeat the URL.
        let mut uri: AMQPUri = url.expose().parse().map_err(|_| AddressError::Url)?;
        uri.query.heartbeat = uri.query.heartbeat.or(Some(HEARTBEAT));
        let authorities = ca_file.map(read_authorities).transpose()?;
        let target = format!(
            "virtual host \"{}\" on {}:{} as user \"{}\"",
            uri.vhost, uri.authority.host, uri.authority.port, uri.authority.userinfo.username
        );
        Ok(Address { uri, authorities, target })
    }

    /// Virtual host, user and host, for people. No password.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Connects; `name` is what the broker shows.
    ///
    /// # Errors
    ///
    /// When the broker cannot be reached, or refuses.
    pub async fn connect(&self, name: &str) -> Result<Connection, BrokerError> {
        let properties = ConnectionProperties::default().with_connection_name(name.into());
        let tls = OwnedTLSConfig { identity: None, cert_chain: self.authorities.clone() };
        let runtime = lapin::runtime::default_runtime()?;
        let connecting =
            Connection::connect_uri_with_config(self.uri.clone(), properties, tls, runtime);
        match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(connected) => Ok(connected?),
            Err(_) => Err(BrokerError::Timeout("connect to RabbitMQ", CONNECT_TIMEOUT)),
        }
    }
}

/// The text of a PEM file with certificate authorities.
///
/// # Errors
///
/// When it cannot be read, or holds no certificate or something that is none.
pub fn read_authorities(path: &Path) -> Result<String, AddressError> {
    let failed = |reason: String| AddressError::CaFile { path: path.to_owned(), reason };
    let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(failed("it holds no certificate".to_owned())),
        false => Ok(text),
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").field("target", &self.target).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_and_no_description_shows_the_password() {
        for url in
            ["amqp://u:s3cret@host:port/", "http://u:s3cret@host/", "u:s3cret", "amqp:s3cret"]
        {
            let url = AmqpUrl::new(url);
            let error = Address::new(&url, None).expect_err(url.expose());
            let text = format!("{error} {error:?} {url:?}");
            assert!(!text.contains("s3cret"), "{text}");
        }
        let url = AmqpUrl::new("amqps://shop:s3cret@broker/orders?heartbeat=3");
        let address = Address::new(&url, None).unwrap();
        assert_eq!(address.target(), "virtual host \"orders\" on broker:5671 as user \"shop\"");
        assert_eq!(address.uri.query.heartbeat, Some(3));
        assert!(!format!("{address:?}").contains("s3cret"));
    }

    #[test]
    fn a_ca_file_without_a_certificate_is_refused() {
        let file = std::env::temp_dir().join(format!("postrider-ca-{}", fastrand::u64(..)));
        let not_one = "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n";
        for text in [Some("none"), Some(not_one), None] {
            let path = match text {
                Some(text) => {
                    fs::write(&file, text).unwrap();
                    file.as_path()
                }
                None => Path::new("/nowhere.pem"),
            };
            let error = Address::new(&AmqpUrl::new("amqps://host"), Some(path)).unwrap_err();
            assert!(matches!(error, AddressError::CaFile { .. }), "{error}");
        }
        fs::remove_file(file).unwrap();
    }
}
