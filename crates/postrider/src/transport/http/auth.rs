//! What the config says about how requests show who sends them. What they show is put together in the core (`auth`).

use http::HeaderName;
use postrider_core::{
    auth::{Auth, AuthError, Hmac, SigV4, check_members},
    signing::scheme::{Digest, Encoding},
};
use ring::hmac;

use crate::transport::{ConfigError, ConfigOption, DefaultValue, OptionKind, config::Checked};

pub const AUTH: ConfigOption = option(
    "auth",
    OptionKind::Object { members: MEMBERS, words: &[] },
    "How requests show who sends them, beside their signature. A message's headers do not replace those of auth.",
);

const MEMBERS: &[ConfigOption] = &[
    ConfigOption {
        required: true,
        ..option(
            "auth.type",
            OptionKind::OneOf(&["basic", "bearer", "api_key", "hmac", "sigv4"]),
            "What they show. It decides which other members there are.",
        )
    },
    option("auth.username", OptionKind::Text { max: 256 }, "Of basic: the user, without a colon."),
    option("auth.password", OptionKind::Text { max: 1_024 }, "Of basic: the password, if any."),
    option("auth.token", OptionKind::Text { max: 8_192 }, "Of bearer: the token."),
    option(
        "auth.header",
        OptionKind::HeaderName { max: 64 },
        "Of api_key and hmac: the header in which it stands.",
    ),
    option(
        "auth.query",
        OptionKind::Text { max: 64 },
        "Of api_key: the parameter of the URL in which it stands, in place of a header.",
    ),
    option("auth.value", OptionKind::Text { max: 4_096 }, "Of api_key: the key."),
    option("auth.key", OptionKind::Text { max: 1_024 }, "Of hmac: the key, to the letter."),
    ConfigOption {
        default: DefaultValue::Text("sha256"),
        ..option(
            "auth.digest",
            OptionKind::OneOf(&["sha256", "sha1", "sha512"]),
            "Of hmac: the digest.",
        )
    },
    ConfigOption {
        default: DefaultValue::Text("hex"),
        ..option(
            "auth.encoding",
            OptionKind::OneOf(&["hex", "base64"]),
            "Of hmac: how it is written.",
        )
    },
    option("auth.prefix", OptionKind::Text { max: 64 }, "Of hmac: what stands before it."),
    option("auth.region", OptionKind::Text { max: 64 }, "Of sigv4: the region, such as eu-west-1."),
    option(
        "auth.service",
        OptionKind::Text { max: 64 },
        "Of sigv4: the service, such as events or execute-api.",
    ),
    option("auth.access_key_id", OptionKind::Text { max: 128 }, "Of sigv4: the id of the key."),
    option("auth.secret_access_key", OptionKind::Text { max: 256 }, "Of sigv4: the key."),
    option(
        "auth.session_token",
        OptionKind::Text { max: 8_192 },
        "Of sigv4: what comes with credentials for a time.",
    ),
];

const fn option(name: &'static str, kind: OptionKind, description: &'static str) -> ConfigOption {
    ConfigOption {
        name,
        kind,
        required: false,
        default: DefaultValue::None,
        description,
        secret: true,
    }
}

/// Reads what the config says, and whether what is sent by it is a secret by itself.
///
/// # Errors
///
/// Members that do not fit the type, and headers that would be there twice.
pub fn read(config: &Checked<'_>) -> Result<Option<(Auth, bool)>, ConfigError> {
    let Some(kind) = config.text("auth.type") else { return Ok(None) };
    let kind = check_members(kind, config.members("auth"))?;
    let text = |name| config.text(name).unwrap_or_default();
    let header = || text("auth.header").parse::<HeaderName>().expect("checked");
    let auth = match kind.name {
        "basic" => Auth::basic(text("auth.username"), text("auth.password"))?,
        "bearer" => Auth::bearer(text("auth.token")),
        "api_key" => match config.text("auth.query") {
            Some(name) => Auth::query(name, text("auth.value")),
            None => Auth::api_key(&header(), text("auth.value")),
        },
        "hmac" => Auth::Hmac(Hmac {
            header: header(),
            key: hmac::Key::new(Hmac::algorithm(digest(config)), text("auth.key").as_bytes()),
            encoding: match text("auth.encoding") {
                "base64" => Encoding::Base64,
                _ => Encoding::Hex,
            },
            prefix: text("auth.prefix").to_owned(),
        }),
        _ => Auth::SigV4(SigV4 {
            access_key_id: text("auth.access_key_id").to_owned(),
            secret_access_key: text("auth.secret_access_key").to_owned(),
            session_token: config.text("auth.session_token").map(str::to_owned),
            region: text("auth.region").to_owned(),
            service: text("auth.service").to_owned(),
        }),
    };
    check_headers(config, &auth)?;
    Ok(Some((auth, kind.sends_secret)))
}

fn digest(config: &Checked<'_>) -> Digest {
    match config.text("auth.digest") {
        Some("sha1") => Digest::Sha1,
        Some("sha512") => Digest::Sha512,
        _ => Digest::Sha256,
    }
}

/// A header of `auth` is nobody else's.
fn check_headers(config: &Checked<'_>, auth: &Auth) -> Result<(), AuthError> {
    let own = auth.headers();
    let is_own = |name: &str| own.iter().any(|own| own.as_str().eq_ignore_ascii_case(name));
    let of_signature = ["signature.header", "signature.id_header", "signature.timestamp_header"];
    let mut others = of_signature.iter().filter_map(|name| config.text(name));
    if is_own("content-type") || others.any(is_own) {
        return Err(AuthError::Header);
    }
    for option in ["headers", "header_templates"] {
        let mut names: Vec<&str> = config.map(option).map(|(name, _)| name).collect();
        names.sort_unstable();
        if let Some(name) = names.into_iter().find(|name| is_own(name)) {
            return Err(AuthError::Twice { option, name: name.to_ascii_lowercase() });
        }
    }
    Ok(())
}
