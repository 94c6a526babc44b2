//! Endpoints, their verbs and the keys that sign for them.

use super::super::{
    operation::{
        IF_MATCH, Kind, OPERATING, Operation, delete, field, get, list, patch, path, post, query,
        shape,
    },
    shapes,
};

const API_ENDPOINTS: &str = include_str!("../../../../../sql/queries/endpoints/api_endpoints.sql");
const API_ENDPOINTS_MASKED: &str =
    include_str!("../../../../../sql/queries/endpoints/api_endpoints_masked.sql");
const API_CREATE_ENDPOINT: &str =
    include_str!("../../../../../sql/queries/endpoints/api_create_endpoint.sql");
const API_ENDPOINT: &str = include_str!("../../../../../sql/queries/endpoints/api_endpoint.sql");
const API_ENDPOINT_MASKED: &str =
    include_str!("../../../../../sql/queries/endpoints/api_endpoint_masked.sql");
const API_ALTER_ENDPOINT: &str =
    include_str!("../../../../../sql/queries/endpoints/api_alter_endpoint.sql");
const API_DROP_ENDPOINT: &str =
    include_str!("../../../../../sql/queries/endpoints/api_drop_endpoint.sql");
const API_ENDPOINT_HEALTH: &str =
    include_str!("../../../../../sql/queries/endpoints/api_endpoint_health.sql");
const API_ENDPOINTS_HEALTH: &str =
    include_str!("../../../../../sql/queries/endpoints/api_endpoints_health.sql");
const API_PAUSE_ENDPOINT: &str =
    include_str!("../../../../../sql/queries/endpoints/api_pause_endpoint.sql");
const API_RESUME_ENDPOINT: &str =
    include_str!("../../../../../sql/queries/endpoints/api_resume_endpoint.sql");
const API_ENABLE_ENDPOINT: &str =
    include_str!("../../../../../sql/queries/endpoints/api_enable_endpoint.sql");
const API_DISABLE_ENDPOINT: &str =
    include_str!("../../../../../sql/queries/endpoints/api_disable_endpoint.sql");
const API_RESET_CIRCUIT: &str =
    include_str!("../../../../../sql/queries/endpoints/api_reset_circuit.sql");
const API_CANCEL_ENDPOINT_MESSAGES: &str =
    include_str!("../../../../../sql/queries/deliveries/api_cancel_endpoint_messages.sql");
const API_PAUSE_ALL: &str = include_str!("../../../../../sql/queries/endpoints/api_pause_all.sql");
const API_RESUME_ALL: &str =
    include_str!("../../../../../sql/queries/endpoints/api_resume_all.sql");
const API_VALIDATE_ENDPOINT: &str =
    include_str!("../../../../../sql/queries/endpoints/api_validate_endpoint.sql");
const API_VALIDATE_RETRY_POLICY: &str =
    include_str!("../../../../../sql/queries/policy/api_validate_retry_policy.sql");
const API_SIGNING_KEYS: &str =
    include_str!("../../../../../sql/queries/endpoints/api_signing_keys.sql");
const API_ADD_SIGNING_KEY: &str =
    include_str!("../../../../../sql/queries/endpoints/api_add_signing_key.sql");
const API_ROTATE_SIGNING_KEY: &str =
    include_str!("../../../../../sql/queries/endpoints/api_rotate_signing_key.sql");
const API_RETIRE_SIGNING_KEY: &str =
    include_str!("../../../../../sql/queries/endpoints/api_retire_signing_key.sql");
const API_REVEAL_SIGNING_KEY: &str =
    include_str!("../../../../../sql/queries/endpoints/api_reveal_signing_key.sql");

pub const ALL: &[Operation] = &[
    list("/api/v1/endpoints", "listEndpoints", "Endpoints by name", shape::<shapes::Endpoint>)
        .runs(API_ENDPOINTS)
        .masked(API_ENDPOINTS_MASKED),
    post(
        "/api/v1/endpoints",
        "createEndpoint",
        "Makes an endpoint; secrets in its config are kept apart",
        shape::<shapes::Id>,
    )
    .takes(&[
        field("name", Kind::Text, "Unique").required(),
        field("protocol", Kind::Text, "Such as http").required(),
        field("config", Kind::Object, "The options of its protocol").required(),
    ])
    .runs(API_CREATE_ENDPOINT)
    .creates(),
    get(
        "/api/v1/endpoints/{name}",
        "getEndpoint",
        "An endpoint and its ETag",
        shape::<shapes::Endpoint>,
    )
    .takes(&[path("name", Kind::Text, "The endpoint's name")])
    .runs(API_ENDPOINT)
    .masked(API_ENDPOINT_MASKED),
    patch(
        "/api/v1/endpoints/{name}",
        "updateEndpoint",
        "Changes an endpoint; secrets that the new config leaves out stay",
        shape::<shapes::EndpointVersion>,
    )
    .takes(&[
        path("name", Kind::Text, "The endpoint's name"),
        IF_MATCH.required(),
        field("config", Kind::Object, "As one piece; a secret that is null is taken away"),
        field("retry_policy", Kind::Object, "Null: the settings apply").nullable(),
        field("enabled", Kind::Boolean, "Whether messages for it are taken and sent"),
        field("paused", Kind::Boolean, "Whether they wait"),
    ])
    .runs(API_ALTER_ENDPOINT),
    delete(
        "/api/v1/endpoints/{name}",
        "deleteEndpoint",
        "Removes an endpoint with its secrets and subscriptions",
        shape::<shapes::Job>,
    )
    .takes(&[
        path("name", Kind::Text, "The endpoint's name"),
        IF_MATCH,
        query("force", Kind::Boolean, "What waits for it becomes dead letters"),
    ])
    .runs(API_DROP_ENDPOINT),
    get(
        "/api/v1/endpoints/{name}/health",
        "getEndpointHealth",
        "How an endpoint does",
        shape::<shapes::EndpointHealth>,
    )
    .takes(&[path("name", Kind::Text, "The endpoint's name")])
    .runs(API_ENDPOINT_HEALTH),
    list(
        "/api/v1/endpoint-health",
        "listEndpointHealth",
        "How endpoints do, by name",
        shape::<shapes::EndpointHealth>,
    )
    .runs(API_ENDPOINTS_HEALTH),
    post(
        "/api/v1/endpoints/{name}/pause",
        "pauseEndpoint",
        "Messages for it wait",
        shape::<shapes::Changed>,
    )
    .may(OPERATING)
    .takes(&[path("name", Kind::Text, "The endpoint's name")])
    .runs(API_PAUSE_ENDPOINT),
    post(
        "/api/v1/endpoints/{name}/resume",
        "resumeEndpoint",
        "What waits for it is sent",
        shape::<shapes::Changed>,
    )
    .may(OPERATING)
    .takes(&[path("name", Kind::Text, "The endpoint's name")])
    .runs(API_RESUME_ENDPOINT),
    post(
        "/api/v1/endpoints/{name}/enable",
        "enableEndpoint",
        "Messages for it are taken again",
        shape::<shapes::Changed>,
    )
    .may(OPERATING)
    .takes(&[path("name", Kind::Text, "The endpoint's name")])
    .runs(API_ENABLE_ENDPOINT),
    post(
        "/api/v1/endpoints/{name}/disable",
        "disableEndpoint",
        "Messages for it are refused, and what waits stays",
        shape::<shapes::Changed>,
    )
    .may(OPERATING)
    .takes(&[path("name", Kind::Text, "The endpoint's name")])
    .runs(API_DISABLE_ENDPOINT),
    post(
        "/api/v1/endpoints/{name}/reset-circuit",
        "resetCircuit",
        "Closes its circuit breaker",
        shape::<shapes::Changed>,
    )
    .may(OPERATING)
    .takes(&[path("name", Kind::Text, "The endpoint's name")])
    .runs(API_RESET_CIRCUIT),
    post(
        "/api/v1/endpoints/{name}/cancel-messages",
        "cancelEndpointMessages",
        "Takes back what waits for it, by a job",
        shape::<shapes::Job>,
    )
    .may(OPERATING)
    .takes(&[path("name", Kind::Text, "The endpoint's name")])
    .runs(API_CANCEL_ENDPOINT_MESSAGES),
    post("/api/v1/pause-all", "pauseAll", "Pauses all endpoints", shape::<shapes::Paused>)
        .may(OPERATING)
        .runs(API_PAUSE_ALL),
    post(
        "/api/v1/resume-all",
        "resumeAll",
        "Resumes what was paused with all",
        shape::<shapes::Resumed>,
    )
    .may(OPERATING)
    .runs(API_RESUME_ALL),
    post(
        "/api/v1/validate/endpoint",
        "validateEndpoint",
        "Whether a config is valid; nothing is changed",
        shape::<shapes::Valid>,
    )
    .takes(&[
        field("protocol", Kind::Text, "Such as http").required(),
        field("config", Kind::Object, "Its options").required(),
    ])
    .runs(API_VALIDATE_ENDPOINT),
    post(
        "/api/v1/validate/retry-policy",
        "validateRetryPolicy",
        "Whether a retry policy is valid; nothing is changed",
        shape::<shapes::Valid>,
    )
    .takes(&[field("policy", Kind::Object, "The policy").required()])
    .runs(API_VALIDATE_RETRY_POLICY),
    get(
        "/api/v1/endpoints/{name}/signing-keys",
        "listSigningKeys",
        "The keys that sign what is sent to it",
        shape::<shapes::SigningKeys>,
    )
    .takes(&[path("name", Kind::Text, "The endpoint's name")])
    .runs(API_SIGNING_KEYS),
    post(
        "/api/v1/endpoints/{name}/signing-keys",
        "addSigningKey",
        "Adds a key, or makes one; reveal shows it",
        shape::<shapes::KeyId>,
    )
    .takes(&[
        path("name", Kind::Text, "The endpoint's name"),
        field("key", Kind::Text, "whsec_… or whsk_…; without it one is made"),
    ])
    .runs(API_ADD_SIGNING_KEY)
    .creates()
    .secret(),
    post(
        "/api/v1/endpoints/{name}/signing-keys/rotate",
        "rotateSigningKey",
        "Makes a new key, which is shown this once; older ones go on for the overlap",
        shape::<shapes::Key>,
    )
    .takes(&[
        path("name", Kind::Text, "The endpoint's name"),
        field("overlap", Kind::Interval, "0 to 30 days; 24 hours"),
    ])
    .runs(API_ROTATE_SIGNING_KEY)
    .creates()
    .secret(),
    post(
        "/api/v1/endpoints/{name}/signing-keys/{id}/retire",
        "retireSigningKey",
        "Lets a key end",
        shape::<shapes::Retired>,
    )
    .takes(&[
        path("name", Kind::Text, "The endpoint's name"),
        path("id", Kind::Text, "The id of the key"),
        field("after", Kind::Interval, "0 to 30 days; at once"),
    ])
    .runs(API_RETIRE_SIGNING_KEY),
    post(
        "/api/v1/endpoints/{name}/signing-keys/{id}/reveal",
        "revealSigningKey",
        "Shows a key that was made here and has not been shown",
        shape::<shapes::Key>,
    )
    .takes(&[
        path("name", Kind::Text, "The endpoint's name"),
        path("id", Kind::Text, "The id of the key"),
    ])
    .runs(API_REVEAL_SIGNING_KEY)
    .secret(),
];
