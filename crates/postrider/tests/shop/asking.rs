//! Asking a process over HTTP, byte by byte: what is sent is what a test says.

use std::net::SocketAddr;

use postrider_testkit::process::Dispatcher;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{Shop, serving::LONG};

/// What was answered.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// It has this status.
    #[track_caller]
    pub fn expect(self, status: u16) -> Reply {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// It is a problem with this status and code.
    #[track_caller]
    pub fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let body = self.json();
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{self:?}");
        assert_eq!(body["status"], status);
        body
    }
}

/// The listener of a process.
#[derive(Debug, Clone)]
pub struct Asked {
    pub address: SocketAddr,
    /// What every request has.
    pub headers: Vec<(String, String)>,
}

impl Asked {
    /// The same with a header more.
    pub fn with(&self, name: &str, value: &str) -> Asked {
        let mut other = self.clone();
        other.headers.push((name.to_owned(), value.to_owned()));
        other
    }

    pub fn bearing(&self, token: &str) -> Asked {
        self.with("authorization", &format!("Bearer {token}"))
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, "").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask("POST", path, &body.to_string()).await
    }

    pub async fn ask(&self, method: &str, path: &str, body: &str) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if !self.headers.iter().any(|(name, _)| name == "host") {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!(
                "content-type: application/json\r\ncontent-length: {}\r\n",
                body.len()
            ));
        }
        self.send(format!("{head}\r\n{body}").as_bytes()).await
    }

    /// Sends these bytes and reads the answer to its end.
    pub async fn send(&self, bytes: &[u8]) -> Reply {
        let asking = async {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            // One that has heard enough answers before the end.
            let _ = stream.write_all(bytes).await;
            read(&mut stream).await
        };
        timeout(LONG, asking).await.expect("it answers")
    }
}

/// Reads an answer, after which the connection is closed.
pub async fn read(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    // A connection that is reset has told what there was to tell.
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head in `{text}`"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    };
    Reply { status, headers: lines.map(header).collect(), body: body.to_owned() }
}

/// The listener of a process that was told to listen.
pub async fn listener(dispatcher: &Dispatcher) -> Asked {
    let line = dispatcher.wait_for_log("listening address=", LONG).await.unwrap();
    let (_, address) = line.split_once("listening address=").unwrap();
    Asked { address: address.trim().parse().unwrap(), headers: Vec::new() }
}

impl Shop {
    /// A dispatcher that listens, and has shards.
    pub async fn serve_asked(&self) -> (Dispatcher, Asked) {
        let options = self.serve_options().argument("--listen").argument("127.0.0.1:0");
        let dispatcher = Dispatcher::start(&options).unwrap();
        let asked = listener(&dispatcher).await;
        dispatcher.wait_for_log("shards acquired", LONG).await.unwrap();
        (dispatcher, asked)
    }

    /// A new token of this role.
    #[track_caller]
    pub fn token(&self, name: &str, role: &str) -> String {
        let run = self.run(&["token", "create", name, "--role", role]).succeed();
        run.stdout.trim_end().to_owned()
    }
}
