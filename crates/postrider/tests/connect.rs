//! Connecting with TLS.

use std::{fs, os::unix::fs::MetadataExt, path::PathBuf};

use postrider_store::connect::{ConnectError, Connector, DatabaseUrl, error_text};

use crate::shop::Shop;

/// Turns TLS on with a certificate for 127.0.0.1 that nobody has signed; returns its file.
async fn turn_tls_on(shop: &Shop) -> PathBuf {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let folder = shop.postgres.data_dir();
    let owner = fs::metadata(&folder).unwrap();
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
        path
    };
    let certificate = write("server.crt", cert.pem());
    write("server.key", signing_key.serialize_pem());
    shop.execute("alter system set ssl = on").await;
    shop.execute("select pg_reload_conf()").await;
    certificate
}

/// Whether the connection is encrypted, or why there is none.
async fn connect(url: &str, ca_file: Option<&PathBuf>) -> Result<bool, String> {
    let connector =
        Connector::new(&DatabaseUrl::new(url), ca_file.map(PathBuf::as_path), "test").unwrap();
    let session = match connector.connect().await {
        Ok(session) => session,
        Err(ConnectError::Refused { source, .. }) => return Err(error_text(&source)),
        Err(error) => return Err(error.to_string()),
    };
    let sql = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    Ok(session.client.query_one(sql, &[]).await.unwrap().get(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_used_as_sslmode_says_and_required_tls_is_verified() {
    let shop = Shop::open().await;
    let url = |mode: &str| format!("{}?sslmode={mode}", shop.url());
    assert_eq!(connect(&url("prefer"), None).await, Ok(false));
    let refused = connect(&url("require"), None).await.unwrap_err();
    assert!(refused.contains("server does not support TLS"), "{refused}");

    let certificate = turn_tls_on(&shop).await;
    // The server takes the change up between two connections.
    while connect(&url("prefer"), None).await != Ok(true) {
        tokio::task::yield_now().await;
    }
    assert_eq!(connect(&url("disable"), None).await, Ok(false));
    for mode in ["require", "verify-ca", "verify-full"] {
        let refused = connect(&url(mode), None).await.unwrap_err();
        assert!(refused.contains("UnknownIssuer"), "{mode}: {refused}");
        assert_eq!(connect(&url(mode), Some(&certificate)).await, Ok(true), "{mode}");
    }
    assert_eq!(connect(&url("prefer"), Some(&certificate)).await, Ok(true));
    let elsewhere = url("require").replace("127.0.0.1", "localhost");
    let refused = connect(&elsewhere, Some(&certificate)).await.unwrap_err();
    assert!(refused.contains("NotValidForName") || refused.contains("not valid"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_of_the_machine_works() {
    let shop = Shop::open().await;
    let folder = shop.postgres.socket_dir();
    let url = format!(
        "host={} port={} user=postgres dbname=shop",
        folder.display(),
        shop.postgres.port()
    );
    assert_eq!(connect(&url, None).await, Ok(false));
}
