//! Consumers and what they have parked.

use super::super::{
    operation::{Kind, OPERATING, Operation, delete, field, get, list, path, post, shape},
    shapes,
};

const API_CONSUMERS: &str = include_str!("../../../../../sql/queries/consume/api_consumers.sql");
const API_CREATE_CONSUMER: &str =
    include_str!("../../../../../sql/queries/consume/api_create_consumer.sql");
const API_CONSUMER: &str = include_str!("../../../../../sql/queries/consume/api_consumer.sql");
const API_RESET_CONSUMER: &str =
    include_str!("../../../../../sql/queries/consume/api_reset_consumer.sql");
const API_DROP_CONSUMER: &str =
    include_str!("../../../../../sql/queries/consume/api_drop_consumer.sql");
const API_PARKED_MESSAGES: &str =
    include_str!("../../../../../sql/queries/consume/api_parked_messages.sql");
const API_PARKED_MESSAGES_MASKED: &str =
    include_str!("../../../../../sql/queries/consume/api_parked_messages_masked.sql");
const API_PARKED_MESSAGE: &str =
    include_str!("../../../../../sql/queries/consume/api_parked_message.sql");
const API_PARKED_MESSAGE_MASKED: &str =
    include_str!("../../../../../sql/queries/consume/api_parked_message_masked.sql");
const API_RESOLVE_PARKED_MESSAGE: &str =
    include_str!("../../../../../sql/queries/consume/api_resolve_parked_message.sql");

pub const ALL: &[Operation] = &[
    list("/api/v1/consumers", "listConsumers", "Consumers by name", shape::<shapes::Consumer>)
        .runs(API_CONSUMERS),
    post("/api/v1/consumers", "createConsumer", "Makes a reader of the log", shape::<shapes::Id>)
        .takes(&[
            field("name", Kind::Text, "Unique").required(),
            field("event_types", Kind::Texts, "Names or patterns; without it, all"),
            field("filter", Kind::Object, "Payloads that contain this"),
            field("start", Kind::Text, "beginning, now, a time or a message"),
            field("ordering", Kind::Text, "commit or transaction"),
            field("partitions", Kind::Integer, "1 to 64"),
        ])
        .runs(API_CREATE_CONSUMER)
        .creates(),
    get(
        "/api/v1/consumers/{name}",
        "getConsumer",
        "A consumer, its positions and its lag",
        shape::<shapes::WholeConsumer>,
    )
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_CONSUMER),
    post(
        "/api/v1/consumers/{name}/reset",
        "resetConsumer",
        "Lets a consumer go on from there",
        shape::<shapes::Reset>,
    )
    .takes(&[
        path("name", Kind::Text, "Its name"),
        field("start", Kind::Text, "beginning, now, a time or a message").required(),
    ])
    .runs(API_RESET_CONSUMER),
    delete(
        "/api/v1/consumers/{name}",
        "deleteConsumer",
        "Removes a consumer",
        shape::<shapes::Dropped>,
    )
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_DROP_CONSUMER),
    list(
        "/api/v1/parked-messages",
        "listParkedMessages",
        "Messages that consumers have passed, the newest first",
        shape::<shapes::ParkedMessage>,
    )
    .runs(API_PARKED_MESSAGES)
    .masked(API_PARKED_MESSAGES_MASKED),
    get(
        "/api/v1/parked-messages/{id}",
        "getParkedMessage",
        "A parked message with what was in it",
        shape::<shapes::WholeParkedMessage>,
    )
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_PARKED_MESSAGE)
    .masked(API_PARKED_MESSAGE_MASKED),
    delete(
        "/api/v1/parked-messages/{id}",
        "resolveParkedMessage",
        "Removes a parked message",
        shape::<shapes::Resolved>,
    )
    .may(OPERATING)
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_RESOLVE_PARKED_MESSAGE),
];
