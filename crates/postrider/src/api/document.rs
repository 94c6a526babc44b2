//! `/api/v1/openapi.json`: what can be asked for, made of the same rows as the router.

use std::sync::OnceLock;

use axum::{extract::State, response::IntoResponse};
use http::header;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::{
    Api,
    operation::{Answer, Kind, Operation, PAGE_DEFAULT, Parameter, Place, SENDING, Schemas, shape},
    operations,
    problem::Words,
    token::{Caller, Role},
};

/// Where it is.
pub const PATH: &str = "/api/v1/openapi.json";

/// Who may what is written by hand, as a row of `operations` says it of others.
const BY_HAND: &[(&str, &str, &[Role])] = &[
    ("/api/v1/messages", "post", SENDING),
    ("/api/v1/messages/batch", "post", SENDING),
    ("/api/v1/events", "post", SENDING),
    ("/api/v1/events/batch", "post", SENDING),
    (PATH, "get", &[Role::Viewer, Role::Operator, Role::Admin, Role::Producer]),
];

/// Of lists that are asked for a name or an id.
const UNKNOWN: &str = "Nothing has or had the name or id that is asked for";

static DOCUMENT: OnceLock<String> = OnceLock::new();

/// The document. Whoever has a token may read it.
#[utoipa::path(
    get, path = "/api/v1/openapi.json", tag = "openapi", operation_id = "getDocument",
    responses((status = 200, description = "This document", body = serde_json::Value)),
    security(("token" = []))
)]
pub async fn document(_: Caller, State(_): State<Api>) -> impl IntoResponse {
    let text = DOCUMENT.get_or_init(|| write(super::routes().1).to_string());
    ([(header::CONTENT_TYPE, "application/json")], text.as_str())
}

/// Completes what the hand-written operations say of themselves.
pub fn write(known: OpenApi) -> Value {
    let mut document = json!(known);
    let mut schemas = Schemas::new();
    let problem = shape::<Words<'static>>(&mut schemas);
    let problem = json!({
        "description": "What went wrong",
        "content": { "application/problem+json": { "schema": reference(&problem) } },
    });
    for operation in operations::all() {
        let path = &mut document["paths"][operation.path];
        let described = &mut path[operation.method.as_str().to_lowercase()];
        *described = describe(operation, &mut schemas);
        if operation.check.is_some() {
            described["responses"]["404"] = problem.clone();
            described["responses"]["404"]["description"] = UNKNOWN.into();
        }
    }
    for (path, method, roles) in BY_HAND {
        document["paths"][*path][*method]["x-postrider-roles"] = names(roles);
    }
    for (name, schema) in schemas {
        document["components"]["schemas"][name] = json!(schema);
    }
    for methods in document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        for described in methods.as_object_mut().into_iter().flat_map(Map::values_mut) {
            described["responses"]["default"] = problem.clone();
        }
    }
    document["info"] = json!({
        "title": "Postrider",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "Reliable message delivery for applications that live on PostgreSQL.",
    });
    document["components"]["securitySchemes"] =
        json!({ "token": { "type": http::uri::Scheme::HTTP.as_str(), "scheme": "bearer" } });
    document["webhooks"] = webhooks();
    document
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn describe(operation: &Operation, schemas: &mut Schemas) -> Value {
    let (shape, is_page) = match operation.answer {
        Answer::One(shape) | Answer::Token(shape) => (shape, false),
        Answer::Page { item, .. } => (item, true),
    };
    let shape = reference(&shape(schemas));
    let schema = if is_page { page(&shape) } else { shape };
    let mut success = json!({
        "description": operation.summary,
        "content": { "application/json": { "schema": schema } },
    });
    if operation.parameters(Place::Precondition).next().is_some() || is_versioned(operation) {
        success["headers"] = json!({ "ETag": { "schema": { "type": "string" } } });
    }
    let mut described = json!({
        "tags": [operation.tag()],
        "operationId": operation.id,
        "summary": operation.summary,
        "x-postrider-roles": names(operation.may),
        "parameters": parameters(operation),
        "responses": { operation.status.to_string(): success },
        "security": [{ "token": [] }],
    });
    if operation.has_body() {
        described["requestBody"] = body(operation);
    }
    described
}

fn names(roles: &[Role]) -> Value {
    roles.iter().map(|role| role.name()).collect()
}

/// Whether what it answers has an ETag.
fn is_versioned(operation: &Operation) -> bool {
    operation.statement.sql.contains(" as etag")
}

fn page(item: &Value) -> Value {
    json!({
        "type": "object",
        "required": ["items", "next"],
        "additionalProperties": false,
        "properties": {
            "items": { "type": "array", "items": item },
            "next": {
                "type": ["string", "null"],
                "description": "The `cursor` of the next page; null: there is none.",
            },
        },
    })
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let describe = |parameter: &Parameter, place: &str| {
        json!({
            "name": parameter.name, "in": place, "required": parameter.is_required,
            "description": parameter.summary, "schema": schema(parameter),
        })
    };
    let mut all = Vec::new();
    for parameter in operation.takes {
        match parameter.place {
            Place::Path => all.push(describe(parameter, "path")),
            Place::Query => all.push(describe(parameter, "query")),
            Place::Precondition => all.push(json!({
                "name": parameter.name, "in": "header", "required": parameter.is_required,
                "description": parameter.summary, "schema": { "type": "string" },
            })),
            Place::Body => {}
        }
    }
    if let Answer::Page { most, .. } = operation.answer {
        all.push(json!({
            "name": "limit", "in": "query", "required": false, "description": "How many items",
            "schema": {
                "type": "integer", "minimum": 1, "maximum": most,
                "default": PAGE_DEFAULT.min(most),
            },
        }));
        all.push(json!({
            "name": "cursor", "in": "query", "required": false,
            "description": "The `next` of the page before", "schema": { "type": "string" },
        }));
    }
    all
}

fn body(operation: &Operation) -> Value {
    let fields = operation.parameters(Place::Body);
    let properties: Map<String, Value> = fields
        .map(|field| {
            let mut schema = schema(field);
            schema["description"] = field.summary.into();
            (field.name.to_owned(), schema)
        })
        .collect();
    let fields = operation.parameters(Place::Body);
    let required: Vec<&str> =
        fields.filter(|field| field.is_required).map(|field| field.name).collect();
    let schema = json!({
        "type": "object", "required": required, "properties": properties,
        "additionalProperties": false,
    });
    json!({
        "required": !required.is_empty(),
        "content": { "application/json": { "schema": schema } },
    })
}

fn schema(parameter: &Parameter) -> Value {
    let mut schema = match parameter.kind {
        Kind::Text => json!({ "type": "string" }),
        Kind::Id => json!({ "type": "integer", "format": "int64", "minimum": 1 }),
        Kind::MessageId => json!({
            "oneOf": [
                { "type": "integer", "format": "int64", "minimum": 1 },
                { "type": "string", "pattern": "^msg_[0-9]+$" },
            ],
        }),
        Kind::Integer => json!({ "type": "integer", "format": "int32" }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Moment => json!({ "type": "string", "format": "date-time" }),
        Kind::Interval => json!({ "type": "string", "examples": ["PT24H", "24 hours"] }),
        Kind::Uuid => json!({ "type": "string", "format": "uuid" }),
        Kind::Object => json!({ "type": "object" }),
        Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Scalar => json!({ "type": ["string", "number", "boolean"] }),
    };
    if parameter.is_nullable {
        schema["type"] = json!([schema["type"], "null"]);
    }
    schema
}

/// What an endpoint of the protocol http is sent: see docs/reference/http.md.
fn webhooks() -> Value {
    let header = |name: &str, summary: &str| {
        json!({
            "name": name, "in": "header", "required": name != "webhook-signature",
            "description": summary, "schema": { "type": "string" },
        })
    };
    json!({
        "message": {
            "post": {
                "operationId": "message",
                "summary": "A message, as an endpoint gets it",
                "parameters": [
                    header("webhook-id", "The same for each attempt: msg_ and the id"),
                    header("webhook-timestamp", "When this attempt was made, in seconds since 1970"),
                    header("webhook-signature", "Signatures of id, timestamp and body"),
                ],
                "requestBody": {
                    "required": true,
                    "content": { "application/json": { "schema": {} } },
                },
                "responses": {
                    "2XX": { "description": "It is delivered" },
                    "default": { "description": "It is tried again, or not, by the retry policy" },
                },
            },
        },
    })
}
