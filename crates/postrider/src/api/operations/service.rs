//! What concerns the service as a whole.

use super::super::{
    operation::{Kind, Operation, delete, field, get, list, path, post, put, shape},
    shapes,
};

const API_SETTINGS: &str = include_str!("../../../../../sql/queries/settings/api_settings.sql");
const API_SETTING: &str = include_str!("../../../../../sql/queries/settings/api_setting.sql");
const API_SET_SETTING: &str =
    include_str!("../../../../../sql/queries/settings/api_set_setting.sql");
const API_RESET_SETTING: &str =
    include_str!("../../../../../sql/queries/settings/api_reset_setting.sql");
const API_TOKENS: &str = include_str!("../../../../../sql/queries/access/api_tokens.sql");
const API_CREATE_TOKEN: &str =
    include_str!("../../../../../sql/queries/access/api_create_token.sql");
const API_REVOKE_TOKEN: &str =
    include_str!("../../../../../sql/queries/access/api_revoke_token.sql");
const API_EVENTS: &str = include_str!("../../../../../sql/queries/watch/api_events.sql");
const API_HEALTH: &str = include_str!("../../../../../sql/queries/watch/api_health.sql");
const API_STATISTICS: &str = include_str!("../../../../../sql/queries/watch/api_statistics.sql");
const API_DISPATCHERS: &str = include_str!("../../../../../sql/queries/watch/api_dispatchers.sql");

pub const ALL: &[Operation] = &[
    list("/api/v1/settings", "listSettings", "Settings by name", shape::<shapes::Setting>)
        .runs(API_SETTINGS),
    get(
        "/api/v1/settings/{name}",
        "getSetting",
        "A setting, and its bounds",
        shape::<shapes::Setting>,
    )
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_SETTING),
    put(
        "/api/v1/settings/{name}",
        "setSetting",
        "Changes a setting",
        shape::<shapes::SettingValue>,
    )
    .takes(&[
        path("name", Kind::Text, "Its name"),
        field("value", Kind::Scalar, "The new value").required(),
    ])
    .runs(API_SET_SETTING),
    delete(
        "/api/v1/settings/{name}",
        "resetSetting",
        "Gives a setting its default",
        shape::<shapes::SettingValue>,
    )
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_RESET_SETTING),
    list("/api/v1/tokens", "listTokens", "Tokens, without what is secret", shape::<shapes::Token>)
        .runs(API_TOKENS),
    post(
        "/api/v1/tokens",
        "createToken",
        "Makes a token, which is shown this once",
        shape::<shapes::NewToken>,
    )
    .takes(&[
        field("name", Kind::Text, "Who has it").required(),
        field("role", Kind::Text, "viewer, operator, admin or producer").required(),
        field("expires_in", Kind::Interval, "Up to 3650 days; without it, until it is revoked"),
    ])
    .runs(API_CREATE_TOKEN)
    .creates()
    .secret()
    .token(),
    delete(
        "/api/v1/tokens/{name}",
        "revokeToken",
        "Lets a token be good for nothing",
        shape::<shapes::Revoked>,
    )
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_REVOKE_TOKEN),
    list(
        "/api/v1/event-log",
        "listEvents",
        "What was changed, by whom, the newest first",
        shape::<shapes::Event>,
    )
    .runs(API_EVENTS),
    get("/api/v1/health", "getHealth", "How the service does", shape::<shapes::Components>)
        .runs(API_HEALTH),
    get("/api/v1/statistics", "getStatistics", "Figures of the database", shape::<shapes::Figures>)
        .runs(API_STATISTICS),
    get(
        "/api/v1/dispatchers",
        "listDispatchers",
        "Processes that deliver",
        shape::<shapes::Dispatchers>,
    )
    .runs(API_DISPATCHERS),
];
