//! `tls`, against nginx: whom we trust, and what we show.

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PublicKeyData};
use ring::digest::{SHA256, digest};
use servers::Server;

use super::*;

struct Authority {
    pem: String,
    /// The digest of its key.
    pin: String,
    issuer: Issuer<'static, KeyPair>,
}

struct Leaf {
    certificate: String,
    key: String,
    pin: String,
}

fn pin(key: &KeyPair) -> String {
    STANDARD.encode(digest(&SHA256, &key.subject_public_key_info()))
}

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().unwrap();
    let (pem, pin) = (params.self_signed(&key).unwrap().pem(), pin(&key));
    Authority { pem, pin, issuer: Issuer::new(params, key) }
}

impl Authority {
    fn leaf(&self, name: &str) -> Leaf {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Leaf { certificate, key: key.serialize_pem(), pin: pin(&key) }
    }
}

/// An nginx with this certificate and protocol, which wants one of `clients`, and says whose it got.
fn nginx(own: &Leaf, chain: &str, clients: &str, protocols: &str) -> Server {
    Server::start("/usr/sbin/nginx", |folder, port| {
        let path = folder.display();
        let config = format!(
            "daemon off; master_process off; pid {path}/pid; error_log stderr;
            events {{}}
            http {{
                access_log off;
                client_body_temp_path {path}/a; proxy_temp_path {path}/b; fastcgi_temp_path {path}/c;
                uwsgi_temp_path {path}/d; scgi_temp_path {path}/e;
                server {{
                    listen 127.0.0.1:{port} ssl http2;
                    ssl_certificate {path}/own.pem; ssl_certificate_key {path}/own.key;
                    ssl_client_certificate {path}/clients.pem; ssl_verify_client on;
                    ssl_protocols {protocols};
                    location / {{ return 200 \"$ssl_client_s_dn $ssl_protocol\"; }}
                }}
            }}"
        );
        let files = [
            ("own.pem", format!("{}{chain}", own.certificate)),
            ("own.key", own.key.clone()),
            ("clients.pem", clients.to_owned()),
            ("conf", config),
        ];
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        vec!["-p".into(), path.to_string(), "-c".into(), format!("{path}/conf")]
    })
}

/// Sends a message to a server under this `tls`.
async fn say(server: &Server, tls: Value) -> Report {
    let url = format!("https://127.0.0.1:{}/", server.address.port());
    let config = json!({ "url": url, "capture_response": true, "tls": tls });
    send(&endpoint(config, settings()), envelope(1)).await
}

fn accepted(report: &Report) -> &str {
    assert_eq!(report.outcome, Outcome::Accepted, "{report:?}");
    str::from_utf8(&report.response.as_ref().unwrap().body).unwrap()
}

fn check_tls_failure(report: &Report, expected: &str) {
    assert_eq!(report.outcome, unavailable(None), "{report:?}");
    let error = report.error.as_deref().unwrap();
    assert!(error.starts_with("TLS failure: ") && error.contains(expected), "{error}");
}

#[tokio::test]
async fn a_receiver_that_wants_a_certificate_gets_the_one_of_the_config() {
    let (ours, clients, others) = (authority("ours"), authority("clients"), authority("others"));
    let server = nginx(&ours.leaf("127.0.0.1"), "", &clients.pem, "TLSv1.2 TLSv1.3");
    let (old, new, foreign) = (clients.leaf("old"), clients.leaf("new"), others.leaf("foreign"));
    let with =
        |leaf: &Leaf| json!({ "ca": ours.pem, "certificate": leaf.certificate, "key": leaf.key });
    assert_eq!(accepted(&say(&server, with(&old)).await), "CN=old TLSv1.3");
    // A changed config is another endpoint: no connection or session of the old one is used.
    assert_eq!(accepted(&say(&server, with(&new)).await), "CN=new TLSv1.3");
    for tls in [with(&foreign), json!({ "ca": ours.pem })] {
        let report = say(&server, tls).await;
        assert_eq!((report.outcome, report.status), (Outcome::Rejected, Some(400)));
    }
    let mixed = json!({ "ca": ours.pem, "certificate": old.certificate, "key": new.key });
    let config = json!({ "url": "https://a.test/", "tls": mixed });
    let error = transport::open("http", &config, &Shared::new(settings())).err().unwrap();
    assert_eq!(
        error.to_string(),
        "config.tls.certificate and tls.key are no certificate in PEM and its key"
    );
}

#[tokio::test]
async fn a_receiver_is_trusted_by_its_authority_its_key_and_its_name() {
    let (ours, clients, others) = (authority("ours"), authority("clients"), authority("others"));
    let (leaf, client) = (ours.leaf("127.0.0.1"), clients.leaf("client"));
    // The server hands out its authority too, as whoever has a certificate from elsewhere could.
    let server = nginx(&leaf, &ours.pem, &clients.pem, "TLSv1.2 TLSv1.3");
    let with = |more: Value| {
        let mut tls = json!({ "certificate": client.certificate, "key": client.key });
        tls.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tls
    };
    accepted(&say(&server, with(json!({ "ca": ours.pem }))).await);
    // In place of all others, not beside them.
    check_tls_failure(&say(&server, with(json!({ "ca": others.pem }))).await, "UnknownIssuer");
    check_tls_failure(&say(&server, with(json!({}))).await, "UnknownIssuer");
    let both = format!("{}{}", others.pem, ours.pem);
    accepted(&say(&server, with(json!({ "ca": both }))).await);

    let wrong = STANDARD.encode([7; 32]);
    for (pins, is_good) in [
        (vec![&leaf.pin], true),
        (vec![&wrong, &leaf.pin], true),
        (vec![&leaf.pin, &wrong], true),
        (vec![&wrong], false),
        (vec![&ours.pin], false),
    ] {
        let report = say(&server, with(json!({ "ca": ours.pem, "pins": pins }))).await;
        match is_good {
            true => drop(accepted(&report).to_owned()),
            false => check_tls_failure(&report, "the receiver's key is none of tls.pins"),
        }
    }
    // A pin is no authority.
    let report = say(&server, with(json!({ "ca": others.pem, "pins": [leaf.pin] }))).await;
    check_tls_failure(&report, "UnknownIssuer");

    let named = nginx(&ours.leaf("hooks.test"), "", &clients.pem, "TLSv1.2 TLSv1.3");
    check_tls_failure(&say(&named, with(json!({ "ca": ours.pem }))).await, "not valid for name");
    let name = |name: &str| with(json!({ "ca": ours.pem, "server_name": name }));
    accepted(&say(&named, name("hooks.test")).await);
    check_tls_failure(&say(&named, name("other.test")).await, "not valid for name");
}

#[tokio::test]
async fn older_tls_than_the_config_wants_is_not_spoken() {
    let (ours, clients) = (authority("ours"), authority("clients"));
    let client = clients.leaf("client");
    let server = nginx(&ours.leaf("127.0.0.1"), "", &clients.pem, "TLSv1.2");
    let with = |version: &str| {
        json!({
            "ca": ours.pem, "certificate": client.certificate, "key": client.key,
            "min_version": version
        })
    };
    assert_eq!(accepted(&say(&server, with("1.2")).await), "CN=client TLSv1.2");
    check_tls_failure(&say(&server, with("1.3")).await, "ProtocolVersion");
}
