//! `proxy` and `source_address`, against tinyproxy and microsocks, and against a proxy that tells what it was asked.

use std::{net::IpAddr, path::Path, sync::Mutex};

use servers::Server;

use super::*;

const TINYPROXY: &str = "/usr/bin/tinyproxy";
const MICROSOCKS: &str = "/usr/bin/microsocks";

fn tinyproxy(folder: &Path, port: u16) -> Vec<String> {
    let path = folder.display();
    let config = format!(
        "Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 100\nLogLevel Connect\n\
         LogFile \"{path}/log\"\nBasicAuth me pass\n"
    );
    std::fs::write(folder.join("conf"), config).unwrap();
    vec!["-d".into(), "-c".into(), format!("{path}/conf")]
}

fn microsocks(_: &Path, port: u16) -> Vec<String> {
    ["-i", "127.0.0.1", "-p", &port.to_string(), "-u", "me", "-P", "pass"]
        .map(str::to_owned)
        .to_vec()
}

fn through(url: &str, proxy: Value) -> Value {
    json!({ "url": url, "proxy": proxy })
}

fn only(networks: &str) -> Settings {
    Settings { internal_destinations: Arc::new(networks.parse().unwrap()), ..settings() }
}

#[tokio::test]
async fn requests_go_through_proxies_of_others() {
    for (scheme, program) in [("http", TINYPROXY), ("socks5", MICROSOCKS)] {
        let arguments = |folder: &Path, port| match program {
            TINYPROXY => tinyproxy(folder, port),
            _ => microsocks(folder, port),
        };
        let mut server = Server::start(program, arguments);
        let mut receiver = Receiver::answering(OK).await;
        let url = format!("http://localhost:{}/", receiver.address.port());
        let proxy = |password: &str| {
            let url = format!("{scheme}://{}", server.address);
            json!({ "url": url, "username": "me", "password": password })
        };
        let good = endpoint(through(&url, proxy("pass")), settings());
        for id in [1, 2] {
            let report = send(&good, envelope(id)).await;
            assert_eq!(report.outcome, Outcome::Accepted, "{scheme}: {report:?} {}", server.log());
            let head = receiver.requests.recv().await.unwrap().head;
            assert!(head.starts_with("POST / HTTP/1.1\r\n"), "{head}");
            assert!(!head.to_lowercase().contains("proxy-authorization"), "{head}");
        }
        assert_eq!(receiver.connection_count(), 1, "the way is used again");
        let report = send(&endpoint(through(&url, proxy("no")), settings()), envelope(3)).await;
        assert_eq!(report.outcome, unavailable(None));
        let error = report.error.unwrap();
        let expected = [
            "proxy: it answered HTTP 401",
            "proxy: it answered HTTP 407",
            "proxy: it refused user and password",
        ];
        assert!(expected.contains(&error.as_str()), "{error}");

        server.kill();
        let report = send(&good, envelope(4)).await;
        assert!(matches!(report.outcome, Outcome::Unavailable { .. } | Outcome::Unknown));
        let report = send(&good, envelope(5)).await;
        assert_eq!(report.error.as_deref(), Some("proxy: connection refused"));
        server.restart(program, arguments);
        assert_eq!(send(&good, envelope(5)).await.outcome, Outcome::Accepted);
        assert!(receiver.requests.recv().await.is_some());
    }
}

/// A proxy that writes down what it is asked, and refuses.
async fn refusing() -> (Receiver, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noting = Arc::clone(&asked);
    let script = move |mut stream: TcpStream| {
        let noting = Arc::clone(&noting);
        async move {
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"\r\n\r\n") {
                if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                    return;
                }
            }
            noting.lock().unwrap().push(String::from_utf8(bytes).unwrap());
            let _ = stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\n").await;
        }
    };
    (Receiver::scripted(script).await, asked)
}

#[tokio::test]
async fn a_proxy_is_asked_for_an_address_that_was_judged() {
    let (proxy, asked) = refusing().await;
    let names = NameServer::start(|_| Answers::Addresses(&[[127, 0, 0, 9], [10, 0, 0, 9]])).await;
    let names = names.unwrap();
    let options =
        || SharedOptions { name_servers: vec![names.address], ..SharedOptions::default() };
    let error = async |networks: &str, url: &str| {
        let shared = Shared::with_options(only(networks), options());
        let config = through(url, json!({ "url": format!("http://{}", proxy.address) }));
        let endpoint = transport::open("http", &config, &shared).unwrap();
        send(&endpoint, envelope(1)).await.error.unwrap()
    };
    let internal = "the destination's address is internal; see allow_internal_destinations";
    // The proxy may be reached, the destination may not, however it is written.
    for url in [
        "http://name.test/",
        "http://10.0.0.9/",
        "https://0x0a000009/",
        "http://[::ffff:10.0.0.9]/",
    ] {
        assert_eq!(error("127.0.0.1/32", url).await, internal, "{url}");
    }
    assert!(asked.lock().unwrap().is_empty());
    // The destination may be reached, the proxy may not.
    assert_eq!(error("127.0.0.9/32", "http://name.test/").await, format!("proxy: {internal}"));
    assert_eq!(proxy.connection_count(), 0);
    let port = "port 25 is not for web traffic; see allow_any_port";
    assert_eq!(error("127.0.0.0/8", "http://name.test:25/").await, port);
    assert_eq!(proxy.connection_count(), 0);

    let error = error("127.0.0.0/8", "https://name.test:8443/").await;
    assert_eq!(error, "proxy: it answered HTTP 403");
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked, ["CONNECT 127.0.0.9:8443 HTTP/1.1\r\nHost: 127.0.0.9:8443\r\n\r\n"]);
}

#[tokio::test]
async fn what_a_proxy_is_shown_goes_in_the_clear_to_private_addresses_only() {
    let plain =
        "proxy: secret headers are sent over plain http to private addresses only: use https";
    let proxy = json!({ "url": "http://192.0.2.1:3128", "username": "me", "password": "p" });
    let report =
        send(&endpoint(through("https://192.0.2.2/", proxy), settings()), envelope(1)).await;
    assert_eq!(report.error.as_deref(), Some(plain));
}

#[tokio::test]
async fn a_proxy_that_makes_no_sense_costs_little() {
    let answers = ["SSH-2.0-x\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\n"];
    let endless = "x".repeat(9_000);
    for answer in answers.into_iter().chain([endless.as_str()]) {
        let answer: Arc<str> = answer.into();
        let script = move |mut stream: TcpStream| {
            let answer = Arc::clone(&answer);
            async move {
                let _ = stream.read_u8().await;
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
                let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
            }
        };
        let proxy = Receiver::scripted(script).await;
        for scheme in ["http", "socks5"] {
            let proxy = json!({ "url": format!("{scheme}://{}", proxy.address) });
            let config = through("http://127.0.0.1:1080/", proxy);
            let report = send(&endpoint(config, settings()), envelope(1)).await;
            assert_eq!(report.outcome, unavailable(None));
            assert!(report.error.unwrap().starts_with("proxy: it "));
        }
    }
}

#[tokio::test]
async fn connections_come_from_the_source_addresses_in_turn() {
    let came = Arc::new(Mutex::new(Vec::new()));
    let noting = Arc::clone(&came);
    let script = move |mut stream: TcpStream| {
        noting.lock().unwrap().push(stream.peer_addr().unwrap().ip());
        async move {
            if receiver::read_request(&mut stream).await.is_some() {
                let close = OK.replace("content-length", "connection: close\r\ncontent-length");
                let _ = stream.write_all(close.as_bytes()).await;
            }
        }
    };
    let receiver = Receiver::scripted(script).await;
    let url = format!("http://{}/", receiver.address);
    let from =
        |addresses: Value| endpoint(json!({ "url": url, "source_address": addresses }), settings());
    let two = from(json!(["127.0.0.2", "127.0.0.3", "::1"]));
    for id in 0..4 {
        assert_eq!(send(&two, envelope(id)).await.outcome, Outcome::Accepted);
    }
    let expected = ["127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.3"];
    let expected = expected.map(|address| address.parse::<IpAddr>().unwrap());
    assert_eq!(*came.lock().unwrap(), expected);

    let report = send(&from(json!(["192.0.2.1"])), envelope(1)).await;
    let expected = "no such source_address on the dispatcher's machine";
    assert_eq!((report.outcome, report.error.as_deref()), (unavailable(None), Some(expected)));
    let report = send(&from(json!(["::1"])), envelope(1)).await;
    let expected = "no source_address of the destination's family";
    assert_eq!((report.outcome, report.error.as_deref()), (unavailable(None), Some(expected)));
    assert_eq!(receiver.connection_count(), 4);
}
