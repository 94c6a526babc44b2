//! What the config says about TLS: whom a server has to be certified by, which keys it may have, what we show it.
//!
//! Each endpoint that says something has a configuration of its own, and with it sessions of its own: none that began
//! under other rules is taken up again.

use std::{net::Ipv4Addr, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use hyper_rustls::{DefaultServerNameResolver, FixedServerNameResolver, ResolveServerName};
use postrider_core::egress::TlsError;
use ring::digest::{SHA256, digest};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
    server::ParsedCertificate,
    version::{TLS12, TLS13},
};

use crate::{
    ConfigError, ConfigOption, DefaultValue, OptionKind, Shared,
    config::{Checked, secret},
    shared::offering_http,
};

pub const TLS: ConfigOption = secret(
    "tls",
    OptionKind::Object { members: MEMBERS, words: &[] },
    "What is asked of the receiver's TLS, and what is shown to it. Only for https addresses.",
);

const PEM: OptionKind = OptionKind::Lines { max: 65_536 };

const MEMBERS: &[ConfigOption] = &[
    secret(
        "tls.ca",
        PEM,
        "Certificate authorities (PEM) that are trusted, in place of all others.",
    ),
    secret(
        "tls.certificate",
        PEM,
        "The certificate that is shown to the receiver (PEM), with those between it and its authority behind it.",
    ),
    secret("tls.key", OptionKind::Lines { max: 16_384 }, "The key of the certificate (PEM)."),
    ConfigOption {
        default: DefaultValue::Text("1.2"),
        ..secret(
            "tls.min_version",
            OptionKind::OneOf(&["1.2", "1.3"]),
            "The oldest version of TLS that is spoken.",
        )
    },
    secret(
        "tls.server_name",
        OptionKind::Text { max: 253 },
        "The name that the receiver's certificate has to be for, and that it is asked for, in place of the URL's host.",
    ),
    secret(
        "tls.pins",
        OptionKind::Texts { max: 16 },
        "SHA-256 digests of public keys (SubjectPublicKeyInfo) in base64: the receiver's certificate has to have one of these keys.",
    ),
];

/// How connections speak TLS.
#[derive(Clone)]
pub struct Tls {
    pub config: Arc<ClientConfig>,
    /// The name of a destination's server.
    pub names: Arc<dyn ResolveServerName + Send + Sync>,
}

impl Tls {
    /// As for an endpoint that says nothing about it.
    pub fn usual(shared: &Shared) -> Self {
        Self { config: shared.tls(), names: Arc::new(DefaultServerNameResolver::default()) }
    }
}

/// Reads what the config says.
///
/// # Errors
///
/// What cannot be used, or does not fit.
pub fn read(config: &Checked<'_>, shared: &Shared) -> Result<Tls, ConfigError> {
    if !config.has("tls") {
        return Ok(Tls::usual(shared));
    }
    let is_plain =
        config.text("url").is_some_and(|url| !url.to_ascii_lowercase().starts_with("https:"));
    if is_plain {
        return Err(TlsError::Plain.into());
    }
    if config.has("tls.certificate") != config.has("tls.key") {
        return Err(TlsError::Half.into());
    }
    let pins: Option<Vec<[u8; 32]>> = config.list("tls.pins").map(pin).collect();
    let pins = pins.ok_or(TlsError::Pins)?;
    let mut usual = Tls::usual(shared);
    if let Some(name) = config.text("tls.server_name") {
        if !is_server_name(name) {
            return Err(TlsError::Name.into());
        }
        let name = ServerName::try_from(name.to_owned()).map_err(|_| TlsError::Name)?;
        usual.names = Arc::new(FixedServerNameResolver::new(name));
    }
    let roots = match config.text("tls.ca") {
        Some(pem) => Arc::new(authorities(pem).ok_or(TlsError::Authorities)?),
        None => shared.roots(),
    };
    let versions = match config.text("tls.min_version") {
        Some("1.3") => &[&TLS13][..],
        _ => &[&TLS13, &TLS12],
    };
    let provider = Arc::new(crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
    let verifier = verifier.build().map_err(|_| TlsError::Authorities)?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("ring offers the cipher suites of TLS 1.2 and 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { inner: verifier, pins }));
    let config = match (config.text("tls.certificate"), config.text("tls.key")) {
        (Some(certificate), Some(key)) => {
            let chain: Result<Vec<_>, _> =
                CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
            let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
            let (Ok(chain), Ok(key)) = (chain, key) else {
                return Err(TlsError::Certificate.into());
            };
            builder.with_client_auth_cert(chain, key).map_err(|_| TlsError::Certificate)?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok(Tls { config: Arc::new(offering_http(config)), ..usual })
}

fn authorities(pem: &str) -> Option<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.ok()?).ok()?;
    }
    (!roots.is_empty()).then_some(roots)
}

fn pin(text: &str) -> Option<[u8; 32]> {
    STANDARD.decode(text).ok()?.try_into().ok()
}

fn is_server_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    let is_label = |label: &str| {
        let is_long = !(1..=63).contains(&label.len());
        !is_long && label.bytes().all(is_inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = name.len() <= 253 && name.split('.').all(is_label) && !is_number;
    is_name || name.parse::<Ipv4Addr>().is_ok()
}

/// Verifies a server as usual, and then that its certificate has one of the keys that are pinned, if any are. It is the
/// key of the certificate itself: any other of a chain could be put there by whoever gets a certificate from
/// elsewhere.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    pins: Vec<[u8; 32]>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )?;
        if self.pins.is_empty() {
            return Ok(verified);
        }
        let key = ParsedCertificate::try_from(end_entity)?.subject_public_key_info();
        let key = digest(&SHA256, &key);
        match self.pins.iter().any(|pin| pin == key.as_ref()) {
            true => Ok(verified),
            false => Err(Error::General("the receiver's key is none of tls.pins".to_owned())),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
