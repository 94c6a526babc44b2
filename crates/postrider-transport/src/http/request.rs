//! What a request says: the options about it, and the template that they make. What it says of one message is put
//! together in the core (`request`).

use http::HeaderName;
use postrider_core::{
    format::{self, Format},
    render::HeaderTemplate,
    request::RequestTemplate,
    signing::scheme::{self, Digest, Encoding, Names, SchemeText, Signer},
    template::{PathTemplate, ValueTemplate},
};

use super::{CONTENT_TYPE, USER_AGENT};
use crate::{
    ConfigError, ConfigOption, DefaultValue, OptionKind,
    config::{Checked, optional},
};

const FORMATS: OptionKind = OptionKind::OneOf(format::NAMES);
/// Those of the standard, and [`scheme::PRESETS`].
const SIGNATURES: &[&str] = &[
    "standard-webhooks",
    "none",
    "convoy",
    "github",
    "outpost",
    "shopify",
    "slack",
    "stripe",
    "svix",
];
const FIELDS: &[&str] = &["id", "timestamp", "body"];
const NAME: OptionKind = OptionKind::HeaderName { max: 64 };

pub const FORMAT: ConfigOption = ConfigOption {
    default: DefaultValue::Text("raw"),
    ..optional(
        "format",
        FORMATS,
        "What a body looks like. `raw`: the payload as it is. `standard`: an object of type, timestamp and data, as \
         Standard Webhooks recommends. The others: CloudEvents 1.0.",
    )
};

pub const URL_TEMPLATE: ConfigOption = optional(
    "url_template",
    OptionKind::UrlTemplate { max: 2_048 },
    "Path and query in place of those of the url, filled in for each message, such as /hooks/{event_type}.",
);

pub const HEADER_TEMPLATES: ConfigOption = optional(
    "header_templates",
    OptionKind::HeaderTemplates { max: 64 },
    "Headers that are filled in for each message, such as {ordering_key}. They are no place for secrets. A message's \
     own headers replace those of the same name.",
);

pub const SIGNATURE: ConfigOption = ConfigOption {
    default: DefaultValue::Text("standard-webhooks"),
    ..optional(
        "signature",
        OptionKind::Object { members: MEMBERS, words: SIGNATURES },
        "How requests are signed with the signing_keys: by the standard, as a known service does it, or as an object \
         says. `none`: not at all, on purpose. A new endpoint without keys gets one unless this is `none`.",
    )
};

const MEMBERS: &[ConfigOption] = &[
    ConfigOption {
        required: true,
        ..optional("signature.header", NAME, "The header of the signature.")
    },
    ConfigOption {
        default: DefaultValue::Text("{body}"),
        ..optional(
            "signature.content",
            OptionKind::Template { max: 1_024, fields: FIELDS },
            "What is signed.",
        )
    },
    ConfigOption {
        default: DefaultValue::Text(""),
        ..optional(
            "signature.prefix",
            OptionKind::Template { max: 256, fields: &["id", "timestamp"] },
            "What stands before the signatures.",
        )
    },
    optional(
        "signature.version",
        OptionKind::Text { max: 32 },
        "What stands before each signature, such as v1=.",
    ),
    optional(
        "signature.separator",
        OptionKind::Text { max: 4 },
        "What stands between signatures. Without it the oldest key signs, and no other.",
    ),
    ConfigOption {
        default: DefaultValue::Text("hex"),
        ..optional(
            "signature.encoding",
            OptionKind::OneOf(&["hex", "base64"]),
            "How a signature is written.",
        )
    },
    ConfigOption {
        default: DefaultValue::Text("sha256"),
        ..optional(
            "signature.digest",
            OptionKind::OneOf(&["sha256", "sha1", "sha512"]),
            "The digest of the HMAC.",
        )
    },
    ConfigOption {
        default: DefaultValue::Text("text"),
        ..optional(
            "signature.key",
            OptionKind::OneOf(&["text", "base64"]),
            "Whether a key is the text that receivers have, or what its base64 behind the prefix stands for.",
        )
    },
    optional("signature.id_header", NAME, "A header for the message's id, beside webhook-id."),
    optional(
        "signature.timestamp_header",
        NAME,
        "A header for the seconds since 1970, beside webhook-timestamp.",
    ),
];

/// Reads what the config says about requests.
pub fn template(config: &Checked<'_>) -> Result<RequestTemplate, ConfigError> {
    let headers = HeaderTemplate::new(CONTENT_TYPE, USER_AGENT, config.map("headers"))
        .map_err(|source| ConfigError::Header { key: "headers", source })?;
    let header_templates = config.map("header_templates").map(|(name, value)| {
        let name = name.parse::<HeaderName>().expect("checked");
        (name, ValueTemplate::parse(value).expect("checked"))
    });
    Ok(RequestTemplate {
        headers,
        header_templates: header_templates.collect(),
        path: config.text("url_template").map(|path| PathTemplate::parse(path).expect("checked")),
        format: config.text("format").and_then(Format::named).expect("checked, and has a default"),
        signer: signer(config)?,
    })
}

fn signer(config: &Checked<'_>) -> Result<Signer, ConfigError> {
    let names = match config.text("signature") {
        Some("none") => return Ok(Signer::none()),
        Some("standard-webhooks") => Names::Webhook,
        Some("svix") => Names::Svix,
        preset => {
            let known = scheme::PRESETS.iter().find(|(name, _)| Some(*name) == preset);
            let text = known.map_or_else(|| scheme_text(config), |(_, text)| *text);
            let keys = config.list("signing_keys");
            return Signer::by_scheme(&text, keys).map_err(ConfigError::Scheme);
        }
    };
    Ok(Signer::Standard { keys: config.signing_keys("signing_keys")?, names })
}

/// The scheme that an object describes.
fn scheme_text<'a>(config: &Checked<'a>) -> SchemeText<'a> {
    let text = |name: &str| config.text(name).unwrap_or_default();
    SchemeText {
        header: text("signature.header"),
        content: text("signature.content"),
        prefix: text("signature.prefix"),
        version: text("signature.version"),
        separator: config.text("signature.separator"),
        encoding: match text("signature.encoding") {
            "base64" => Encoding::Base64,
            _ => Encoding::Hex,
        },
        digest: match text("signature.digest") {
            "sha1" => Digest::Sha1,
            "sha512" => Digest::Sha512,
            _ => Digest::Sha256,
        },
        has_base64_keys: text("signature.key") == "base64",
        id_header: config.text("signature.id_header"),
        timestamp_header: config.text("signature.timestamp_header"),
    }
}

#[cfg(test)]
mod tests;
