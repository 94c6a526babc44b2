//! What the config says about how requests show who sends them. What they show is put together in the core (`auth`).

use http::HeaderName;
use postrider_core::{
    auth::{
        Auth, AuthError, Hmac, SigV4, check_client, check_members,
        oauth::{Client, Proof},
    },
    signing::scheme::{Digest, Encoding, PRESETS},
};
use ring::hmac;
use rustls::pki_types::{PrivatePkcs8KeyDer, pem::PemObject};

use super::client_key::ClientKey;
use crate::{
    ConfigError, ConfigOption, DefaultValue, OptionKind,
    config::{Checked, secret},
};

pub const AUTH: ConfigOption = secret(
    "auth",
    OptionKind::Object { members: MEMBERS, words: &[] },
    "How requests show who sends them, beside their signature. A message's headers do not replace those of auth.",
);

const MEMBERS: &[ConfigOption] = &[
    ConfigOption {
        required: true,
        ..secret(
            "auth.type",
            OptionKind::OneOf(&["basic", "bearer", "api_key", "hmac", "sigv4", "oauth2"]),
            "What they show. It decides which other members there are.",
        )
    },
    secret("auth.username", OptionKind::Text { max: 256 }, "Of basic: the user, without a colon."),
    secret("auth.password", OptionKind::Text { max: 1_024 }, "Of basic: the password, if any."),
    secret("auth.token", OptionKind::Text { max: 8_192 }, "Of bearer: the token."),
    secret(
        "auth.header",
        OptionKind::HeaderName { max: 64 },
        "Of api_key and hmac: the header in which it stands.",
    ),
    secret(
        "auth.query",
        OptionKind::Text { max: 64 },
        "Of api_key: the parameter of the URL in which it stands, in place of a header.",
    ),
    secret("auth.value", OptionKind::Text { max: 4_096 }, "Of api_key: the key."),
    secret("auth.key", OptionKind::Text { max: 1_024 }, "Of hmac: the key, to the letter."),
    ConfigOption {
        default: DefaultValue::Text("sha256"),
        ..secret(
            "auth.digest",
            OptionKind::OneOf(&["sha256", "sha1", "sha512"]),
            "Of hmac: the digest.",
        )
    },
    ConfigOption {
        default: DefaultValue::Text("hex"),
        ..secret(
            "auth.encoding",
            OptionKind::OneOf(&["hex", "base64"]),
            "Of hmac: how it is written.",
        )
    },
    secret("auth.prefix", OptionKind::Text { max: 64 }, "Of hmac: what stands before it."),
    secret("auth.region", OptionKind::Text { max: 64 }, "Of sigv4: the region, such as eu-west-1."),
    secret(
        "auth.service",
        OptionKind::Text { max: 64 },
        "Of sigv4: the service, such as events or execute-api.",
    ),
    secret("auth.access_key_id", OptionKind::Text { max: 128 }, "Of sigv4: the id of the key."),
    secret("auth.secret_access_key", OptionKind::Text { max: 256 }, "Of sigv4: the key."),
    secret(
        "auth.session_token",
        OptionKind::Text { max: 8_192 },
        "Of sigv4: what comes with credentials for a time.",
    ),
    secret(
        "auth.token_url",
        OptionKind::Url { max: 2_048 },
        "Of oauth2: where tokens are asked for. It is judged as the url is.",
    ),
    secret("auth.client_id", OptionKind::Text { max: 512 }, "Of oauth2: the client."),
    ConfigOption {
        default: DefaultValue::Text("client_secret_basic"),
        ..secret(
            "auth.client_auth",
            OptionKind::OneOf(&["client_secret_basic", "client_secret_post", "private_key_jwt"]),
            "Of oauth2: how the client shows that it is this one.",
        )
    },
    secret(
        "auth.client_secret",
        OptionKind::Text { max: 2_048 },
        "Of oauth2: the client's secret.",
    ),
    secret(
        "auth.private_key",
        OptionKind::Lines { max: 16_384 },
        "Of oauth2: the client's key (PEM, PKCS #8), for private_key_jwt.",
    ),
    secret("auth.key_id", OptionKind::Text { max: 256 }, "Of oauth2: the id of that key."),
    ConfigOption {
        default: DefaultValue::Text("RS256"),
        ..secret(
            "auth.algorithm",
            OptionKind::OneOf(&["RS256", "PS256", "ES256", "EdDSA"]),
            "Of oauth2: how that key signs.",
        )
    },
    secret(
        "auth.scopes",
        OptionKind::Texts { max: 64 },
        "Of oauth2: what the token is to be good for.",
    ),
    secret("auth.audience", OptionKind::Text { max: 2_048 }, "Of oauth2: whom the token is for."),
    secret(
        "auth.extra",
        OptionKind::Map { max: 16 },
        "Of oauth2: more parameters of the request for a token.",
    ),
];

/// What the config says about how requests show who sends them.
pub struct Read {
    pub auth: Auth,
    /// Whether what is sent can be used by whoever reads it on its way.
    pub sends_secret: bool,
    /// Who fetches tokens, where [`Auth::Token`] needs them.
    pub client: Option<Client>,
}

/// Reads what the config says.
///
/// # Errors
///
/// Members that do not fit the type, and headers that would be there twice.
pub fn read(config: &Checked<'_>) -> Result<Option<Read>, ConfigError> {
    let Some(kind) = config.text("auth.type") else { return Ok(None) };
    let kind = check_members(kind, config.members("auth"))?;
    let text = |name| config.text(name).unwrap_or_default();
    let header = || text("auth.header").parse::<HeaderName>().expect("checked");
    let mut client = None;
    let auth = match kind.name {
        "oauth2" => {
            client = Some(self::client(config)?);
            Auth::Token
        }
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
    Ok(Some(Read { auth, sends_secret: kind.sends_secret, client }))
}

fn client(config: &Checked<'_>) -> Result<Client, ConfigError> {
    let text = |name| config.text(name).unwrap_or_default();
    let client_auth = text("auth.client_auth");
    let has = |member: &str| config.members("auth").any(|known| known == member);
    check_client(client_auth, has, config.map("auth.extra").map(|(name, _)| name))?;
    let proof = match client_auth {
        "client_secret_post" => Proof::Post(text("auth.client_secret").to_owned()),
        "private_key_jwt" => {
            let algorithm = text("auth.algorithm");
            let bad = || AuthError::Key { algorithm: algorithm.to_owned() };
            let key = PrivatePkcs8KeyDer::from_pem_slice(text("auth.private_key").as_bytes());
            let key = key.map_err(|_| bad())?;
            let id = config.text("auth.key_id").map(str::to_owned);
            let key = ClientKey::read(algorithm, key.secret_pkcs8_der(), id);
            Proof::Key(Box::new(key.ok_or_else(bad)?))
        }
        _ => Proof::Basic(text("auth.client_secret").to_owned()),
    };
    let scopes: Vec<&str> = config.list("auth.scopes").collect();
    let extra = config.map("auth.extra").map(|(name, value)| (name.to_owned(), value.to_owned()));
    Ok(Client {
        id: text("auth.client_id").to_owned(),
        proof,
        scope: scopes.join(" "),
        audience: config.text("auth.audience").map(str::to_owned),
        extra: extra.collect(),
        token_url: text("auth.token_url").to_owned(),
    })
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
    let named = PRESETS.iter().find(|(name, _)| config.text("signature") == Some(*name));
    let of_named = named.into_iter().flat_map(|(_, scheme)| {
        [Some(scheme.header), scheme.id_header, scheme.timestamp_header].into_iter().flatten()
    });
    let of_svix = ["svix-id", "svix-timestamp", "svix-signature"].into_iter();
    let is_svix = config.text("signature") == Some("svix");
    let mut of_scheme = of_named.chain(of_svix.filter(|_| is_svix));
    if is_own("content-type") || others.any(is_own) || of_scheme.any(is_own) {
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
