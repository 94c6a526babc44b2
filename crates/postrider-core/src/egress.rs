//! What is wrong with the way that an endpoint wants its connections to go. Tells no value.

/// What is wrong with `tls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    #[error("tls is for https addresses only")]
    Plain,
    #[error("tls must have both certificate and key, or neither")]
    Half,
    #[error("tls.pins must be SHA-256 digests in base64, 44 characters each")]
    Pins,
    #[error("tls.server_name must be a host name or an IPv4 address")]
    Name,
    #[error("tls.ca has no certificate authority in PEM")]
    Authorities,
    #[error("tls.certificate and tls.key are no certificate in PEM and its key")]
    Certificate,
}

/// What is wrong with `proxy` or `source_address`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    #[error(
        "proxy.url must be an http://, https:// or socks5:// address with a host, with or without a port, and \
         nothing else"
    )]
    Url,
    #[error("proxy must have both username and password, or neither")]
    User,
    #[error("proxy.username must not contain a colon")]
    Colon,
    #[error("proxy.username and proxy.password must be at most 255 bytes each")]
    Long,
    #[error("source_address must be IP addresses")]
    Source,
}
