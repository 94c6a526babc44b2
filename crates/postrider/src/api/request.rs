//! What is read of a request, within bounds: bodies of JSON, and the fields that there are.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{FromRequest, Request},
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use postrider_core::spelling::nearest;
use serde::Deserialize;
use serde_json::error::Category;
use serde_path_to_error::{Path, Segment};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use super::{
    Api,
    problem::{Code, Problem},
};

/// The longest body.
const BODY_BYTES: usize = 16 * 1024 * 1024;
/// KiB of bodies in memory at a time, over all requests.
pub const BODIES_KIB: usize = 64 * 1024;
/// How long a body may take.
const BODY_TIME: Duration = Duration::from_secs(20);
/// How much of a wrong name is shown.
const NAME_CHARACTERS: usize = 64;

/// A body of JSON. What is read of it are pieces of it, so that it is there once however large it is.
pub struct JsonBody {
    pub bytes: Bytes,
    _memory: Vec<OwnedSemaphorePermit>,
}

impl FromRequest<Api> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        check_kind(request.headers())?;
        let (bytes, memory) = read(request.into_body(), api).await?;
        Ok(Self { bytes, _memory: memory })
    }
}

impl JsonBody {
    pub fn parse<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Problem> {
        parse(&self.bytes)
    }
}

fn check_kind(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(kind) = headers.get(header::CONTENT_TYPE) else { return Ok(()) };
    let kind = kind.to_str().unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || essence.ends_with("+json") {
        return Ok(());
    }
    let detail = "The body must be JSON: Content-Type: application/json.";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::UnsupportedMediaType, detail))
}

/// Memory is taken for what has come, not for what is announced: who announces much and sends little holds nothing.
async fn read(mut body: Body, api: &Api) -> Result<(Bytes, Vec<OwnedSemaphorePermit>), Problem> {
    let mut bytes = BytesMut::new();
    let mut memory = Vec::new();
    let mut held = 0;
    let reading = async {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| {
                Problem::invalid(Code::IncompleteBody, "The body ended before its end.")
            })?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > BODY_BYTES {
                let detail = format!("The body may have at most {BODY_BYTES} bytes.");
                return Err(Problem::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    Code::BodyTooLarge,
                    detail,
                ));
            }
            bytes.extend_from_slice(&data);
            let wanted = bytes.len().div_ceil(1024);
            if wanted > held {
                let more = (wanted - held) as u32;
                let permit = Arc::clone(&api.bodies).try_acquire_many_owned(more);
                memory.push(permit.map_err(|_| {
                    let detail = "Too many large bodies are being read; nothing was done.";
                    Problem::unavailable(Code::Busy, detail)
                })?);
                held = wanted;
            }
        }
        Ok(())
    };
    match timeout(BODY_TIME, reading).await {
        Ok(read) => read?,
        Err(_) => {
            let detail = "The body took too long; nothing was done.";
            return Err(Problem::new(StatusCode::REQUEST_TIMEOUT, Code::BodyTimeout, detail));
        }
    }
    Ok((bytes.freeze(), memory))
}

fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    // serde takes an array for the fields in their order.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(Problem::invalid(Code::InvalidBody, "The body must be an object."));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let pointer = pointer(error.path());
        match error.inner().classify() {
            Category::Data => explain(&error.inner().to_string(), pointer),
            _ => Problem::invalid(Code::InvalidJson, error.inner().to_string()),
        }
    })?;
    reader.end().map_err(|error| Problem::invalid(Code::InvalidJson, error.to_string()))?;
    Ok(value)
}

/// A field that is not known is answered with the nearest one that is.
fn explain(text: &str, pointer: String) -> Problem {
    let Some(rest) = text.strip_prefix("unknown field `") else {
        let place = pointer.strip_prefix('/').map(|name| format!("{name}: "));
        let text = format!("{}{text}", place.unwrap_or_default());
        let problem = Problem::invalid(Code::InvalidBody, text);
        return if pointer.is_empty() { problem } else { problem.at(pointer) };
    };
    let (name, rest) = rest.split_once('`').unwrap_or((rest, ""));
    let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
    unknown("field", name, &known).at(pointer)
}

/// There is no such thing; whoever mistyped it hears of the nearest one.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> Problem {
    let shown: String = name.chars().take(NAME_CHARACTERS).collect();
    let meant = nearest(name, known.iter().copied());
    let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
    Problem::invalid(Code::UnknownField, format!("There is no {what} `{shown}`{meant}"))
}

fn pointer(path: &Path) -> String {
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => format!("/{variant}"),
            Segment::Unknown => String::new(),
        })
        .collect()
}
