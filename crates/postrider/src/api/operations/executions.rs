//! Actions, workers and executions.

use super::super::{
    operation::{
        Kind, OPERATING, Operation, SENDING, delete, field, get, list, path, post, put, shape,
    },
    shapes,
};

const API_ACTIONS: &str = include_str!("../../../../../sql/queries/fleet/api_actions.sql");
const API_ACTION: &str = include_str!("../../../../../sql/queries/fleet/api_action.sql");
const API_SET_ACTION: &str = include_str!("../../../../../sql/queries/fleet/api_set_action.sql");
const API_DROP_ACTION: &str = include_str!("../../../../../sql/queries/fleet/api_drop_action.sql");
const API_WORKERS: &str = include_str!("../../../../../sql/queries/fleet/api_workers.sql");
const API_WORKER: &str = include_str!("../../../../../sql/queries/fleet/api_worker.sql");
const API_CORDON_WORKER: &str =
    include_str!("../../../../../sql/queries/fleet/api_cordon_worker.sql");
const API_UNCORDON_WORKER: &str =
    include_str!("../../../../../sql/queries/fleet/api_uncordon_worker.sql");
const API_DROP_WORKER: &str = include_str!("../../../../../sql/queries/fleet/api_drop_worker.sql");
const API_EXECUTIONS: &str = include_str!("../../../../../sql/queries/fleet/api_executions.sql");
const API_SUBMIT_EXECUTION: &str =
    include_str!("../../../../../sql/queries/fleet/api_submit_execution.sql");
const EXECUTION: &str = include_str!("../../../../../sql/queries/fleet/execution.sql");
const EXECUTION_MASKED: &str =
    include_str!("../../../../../sql/queries/fleet/execution_masked.sql");
const API_CANCEL_EXECUTION: &str =
    include_str!("../../../../../sql/queries/fleet/api_cancel_execution.sql");
const API_RETRY_EXECUTION: &str =
    include_str!("../../../../../sql/queries/fleet/api_retry_execution.sql");

pub const ALL: &[Operation] = &[
    list("/api/v1/actions", "listActions", "Actions by name", shape::<shapes::Action>)
        .runs(API_ACTIONS),
    get("/api/v1/actions/{name}", "getAction", "An action", shape::<shapes::Action>)
        .takes(&[path("name", Kind::Text, "Its name")])
        .runs(API_ACTION),
    put(
        "/api/v1/actions/{name}",
        "setAction",
        "What executions of an action have in common; what is left out gets its default",
        shape::<shapes::Named>,
    )
    .takes(&[
        path("name", Kind::Text, "Its name"),
        field("ttl", Kind::Interval, "How long it may wait"),
        field("timeout", Kind::Interval, "How long it may run"),
        field("max_retries", Kind::Integer, "0 to 1,000"),
        field("priority", Kind::Integer, "0 to 10"),
        field("concurrency", Kind::Integer, "So many at a time"),
        field("description", Kind::Text, "For people"),
    ])
    .runs(API_SET_ACTION),
    delete(
        "/api/v1/actions/{name}",
        "deleteAction",
        "Its executions have the defaults from then on",
        shape::<shapes::Dropped>,
    )
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_DROP_ACTION),
    list("/api/v1/workers", "listWorkers", "Workers by name", shape::<shapes::Worker>)
        .runs(API_WORKERS),
    get("/api/v1/workers/{name}", "getWorker", "A worker", shape::<shapes::Worker>)
        .takes(&[path("name", Kind::Text, "Its name")])
        .runs(API_WORKER),
    post(
        "/api/v1/workers/{name}/cordon",
        "cordonWorker",
        "It gets nothing new",
        shape::<shapes::Changed>,
    )
    .may(OPERATING)
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_CORDON_WORKER),
    post(
        "/api/v1/workers/{name}/uncordon",
        "uncordonWorker",
        "It gets executions again",
        shape::<shapes::Changed>,
    )
    .may(OPERATING)
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_UNCORDON_WORKER),
    delete(
        "/api/v1/workers/{name}",
        "deleteWorker",
        "Removes a worker that has left",
        shape::<shapes::Named>,
    )
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_DROP_WORKER),
    list(
        "/api/v1/executions",
        "listExecutions",
        "Executions, the newest first",
        shape::<shapes::Execution>,
    )
    .runs(API_EXECUTIONS),
    post(
        "/api/v1/executions",
        "submitExecution",
        "Asks workers for something",
        shape::<shapes::Id>,
    )
    .may(SENDING)
    .takes(&[
        field("action", Kind::Text, "What").required(),
        field("parameters", Kind::Object, "With what"),
        field("worker", Kind::Text, "This worker"),
        field("pool", Kind::Text, "Any of this pool"),
        field("ttl", Kind::Interval, "How long it may wait"),
        field("timeout", Kind::Interval, "How long it may run"),
        field("priority", Kind::Integer, "0 to 10"),
        field("max_retries", Kind::Integer, "0 to 1,000"),
        field("idempotency_key", Kind::Text, "The same key gets the same execution"),
        field("correlation_id", Kind::Uuid, ""),
    ])
    .runs(API_SUBMIT_EXECUTION)
    .creates(),
    get(
        "/api/v1/executions/{id}",
        "getExecution",
        "An execution, its attempts and its dead letters",
        shape::<shapes::WholeExecution>,
    )
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(EXECUTION)
    .masked(EXECUTION_MASKED),
    post(
        "/api/v1/executions/{id}/cancel",
        "cancelExecution",
        "Ends an execution, or asks its worker to",
        shape::<shapes::ExecutionStatus>,
    )
    .may(OPERATING)
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_CANCEL_EXECUTION),
    post(
        "/api/v1/executions/{id}/retry",
        "retryExecution",
        "Asks for it anew",
        shape::<shapes::Id>,
    )
    .may(OPERATING)
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_RETRY_EXECUTION)
    .creates(),
];
