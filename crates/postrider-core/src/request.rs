//! A request, put together: where it goes, its headers, its body, its signatures.
//!
//! What an endpoint says is read once, when it is opened, into a [`RequestTemplate`]; an attempt fills it in. What is
//! signed are the bytes that are sent, whatever the format.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::{
    format::{self, Event, Format, FormatError},
    render::{Attempt, HeaderError, HeaderTemplate},
    signing::scheme::Signer,
    template::{Fields, FillError, PathTemplate, ValueTemplate},
};

/// What all requests to one endpoint have in common.
#[derive(Debug)]
pub struct RequestTemplate {
    pub headers: HeaderTemplate,
    pub header_templates: Vec<(HeaderName, ValueTemplate)>,
    /// In place of the URL's path and query.
    pub path: Option<PathTemplate>,
    pub format: Format,
    pub signer: Signer,
}

/// One request.
#[derive(Debug)]
pub struct Rendered {
    /// In place of the URL's path and query.
    pub path: Option<String>,
    pub headers: HeaderMap,
    /// None: the payload as it is.
    pub body: Option<Bytes>,
}

/// Why a message can never be sent. Never tells a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error("{place}: {source}")]
    Fill { place: String, source: FillError },
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl RequestTemplate {
    /// Whether anything of a message's metadata is sent.
    pub fn needs_metadata(&self) -> bool {
        self.path.as_ref().is_some_and(PathTemplate::needs_metadata)
            || self.header_templates.iter().any(|(_, template)| template.needs_metadata())
    }

    /// The request of one attempt. `source`: whose events they are, see [`Event`].
    ///
    /// # Errors
    ///
    /// Why the message can never be sent.
    pub fn render(&self, attempt: &Attempt<'_>, source: &str) -> Result<Rendered, RequestError> {
        let id = attempt.webhook_id();
        let fields = Fields {
            message_id: &id,
            event_type: attempt.event_type,
            ordering_key: attempt.ordering_key,
            correlation_id: attempt.correlation_id,
            headers: attempt.headers,
            metadata: attempt.metadata,
            payload: Some(attempt.body),
        };
        let path = self.path.as_ref().map(|path| {
            let place = || "url_template".to_owned();
            path.fill(&fields).map_err(|source| RequestError::Fill { place: place(), source })
        });
        let path = path.transpose()?;
        let filled = self.header_templates.iter().map(|(name, template)| {
            let value: Result<HeaderValue, FillError> = template.fill(&fields);
            let place = || format!("header_templates.{name}");
            value
                .map(|value| (name.clone(), value))
                .map_err(|source| RequestError::Fill { place: place(), source })
        });
        let filled = filled.collect::<Result<Vec<_>, _>>()?;
        let mut headers = self.headers.render(&filled, attempt)?;
        let event = Event {
            id: &id,
            event_type: attempt.event_type,
            source,
            created_at: attempt.created_at,
            expires_at: attempt.expires_at,
            ordering_key: attempt.ordering_key,
            correlation_id: attempt.correlation_id,
            payload: attempt.body,
            content_type: attempt.content_type,
        };
        let body = format::write(self.format, &event, &mut headers)?;
        let sent = body.as_deref().unwrap_or(attempt.body);
        self.signer.sign(&mut headers, &id, attempt.timestamp, sent)?;
        Ok(Rendered { path, headers, body })
    }
}

#[cfg(test)]
mod tests;
