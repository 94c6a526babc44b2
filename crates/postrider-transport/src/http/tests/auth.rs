//! How requests show who sends them, as a receiver reads them.

use super::*;

/// An endpoint at the receiver with this `auth`.
fn with_auth(receiver: &Receiver, auth: Value) -> Arc<dyn Transport> {
    let url = format!("http://{}/hook", receiver.address);
    endpoint(json!({ "url": url, "auth": auth }), settings())
}

fn with_headers(headers: Value) -> Envelope {
    Envelope { headers: Some(headers.to_string().into()), ..envelope(1) }
}

#[tokio::test]
async fn every_request_shows_who_sends_it_once() {
    let theirs = || {
        with_headers(json!({
            "Authorization": "theirs", "X-Key": "theirs", "X-Mac": "theirs", "x-amz-date": "theirs"
        }))
    };
    for (auth, expected) in [
        (json!({ "type": "basic", "username": "u", "password": "p" }), "authorization: Basic dTpw"),
        (json!({ "type": "bearer", "token": "t" }), "authorization: Bearer t"),
        (json!({ "type": "api_key", "header": "X-Key", "value": "k" }), "x-key: k"),
        (json!({ "type": "api_key", "query": "key", "value": "k" }), "POST /hook?key=k HTTP/1.1"),
        (
            json!({ "type": "hmac", "header": "X-Mac", "key": "k", "prefix": "sha256=" }),
            "x-mac: sha256=",
        ),
        (
            json!({
                "type": "sigv4", "region": "r", "service": "s", "access_key_id": "A",
                "secret_access_key": "s"
            }),
            "authorization: AWS4-HMAC-SHA256 Credential=A/",
        ),
    ] {
        let mut receiver = Receiver::answering(OK).await;
        let report = send(&with_auth(&receiver, auth.clone()), theirs()).await;
        assert_eq!(report.outcome, Outcome::Accepted, "{auth}");
        let head = receiver.requests.recv().await.unwrap().head;
        let count = head.lines().filter(|line| line.starts_with(expected)).count();
        assert_eq!(count, 1, "{head}");
        let name = expected.split(':').next().unwrap();
        let same = head.lines().filter(|line| line.split(':').next() == Some(name)).count();
        assert_eq!(same, 1, "{head}");
    }
}

#[tokio::test]
async fn a_preview_shows_nothing_that_proves_anything() {
    for auth in [
        json!({ "type": "basic", "username": "hush", "password": "hush" }),
        json!({ "type": "bearer", "token": "hush" }),
        json!({ "type": "api_key", "header": "x-key", "value": "hush" }),
        json!({ "type": "api_key", "query": "key", "value": "hush" }),
        json!({ "type": "hmac", "header": "x-mac", "key": "hush", "prefix": "hush=" }),
        json!({
            "type": "sigv4", "region": "r", "service": "s3", "access_key_id": "hush",
            "secret_access_key": "hush", "session_token": "hush"
        }),
    ] {
        let config = json!({ "url": "https://a.test/x", "auth": auth });
        let preview = endpoint(config, settings()).preview(envelope(1)).unwrap().unwrap();
        let shown = format!("{preview:?}");
        assert!(shown.contains('…') && !shown.contains("hush"), "{shown}");
    }
}

/// What anybody on the way could use is sent in the clear to private addresses only; an HMAC is nothing to use.
#[tokio::test]
async fn secrets_go_in_the_clear_to_private_addresses_only() {
    let impatient = Settings { http_connect_timeout: Duration::from_millis(300), ..settings() };
    let shared = Shared::new(impatient);
    for (auth, is_refused) in [
        (json!({ "type": "basic", "username": "u" }), true),
        (json!({ "type": "bearer", "token": "t" }), true),
        (json!({ "type": "api_key", "query": "key", "value": "k" }), true),
        (json!({ "type": "hmac", "header": "X-Mac", "key": "k" }), false),
    ] {
        let config = json!({ "url": "http://192.0.2.1/", "auth": auth });
        let endpoint = transport::open("http", &config, &shared).unwrap();
        let report = send(&endpoint, envelope(1)).await;
        let error = report.error.unwrap();
        let refused =
            "secret headers are sent over plain http to private addresses only: use https";
        assert_eq!(error == refused, is_refused, "{auth}: {error}");
    }
}
