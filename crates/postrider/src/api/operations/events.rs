//! Event types and who subscribes to them.

use super::super::{
    operation::{Kind, Operation, delete, field, get, list, patch, path, post, query, shape},
    shapes,
};

const API_EVENT_TYPES: &str =
    include_str!("../../../../../sql/queries/endpoints/api_event_types.sql");
const API_CREATE_EVENT_TYPE: &str =
    include_str!("../../../../../sql/queries/endpoints/api_create_event_type.sql");
const API_EVENT_TYPE: &str =
    include_str!("../../../../../sql/queries/endpoints/api_event_type.sql");
const API_ALTER_EVENT_TYPE: &str =
    include_str!("../../../../../sql/queries/endpoints/api_alter_event_type.sql");
const API_DROP_EVENT_TYPE: &str =
    include_str!("../../../../../sql/queries/endpoints/api_drop_event_type.sql");
const API_SUBSCRIPTIONS: &str =
    include_str!("../../../../../sql/queries/endpoints/api_subscriptions.sql");
const API_CHECK_SUBSCRIBED: &str =
    include_str!("../../../../../sql/queries/endpoints/api_check_subscribed.sql");
const API_SUBSCRIBE: &str = include_str!("../../../../../sql/queries/endpoints/api_subscribe.sql");
const API_SUBSCRIPTION: &str =
    include_str!("../../../../../sql/queries/endpoints/api_subscription.sql");
const API_ALTER_SUBSCRIPTION: &str =
    include_str!("../../../../../sql/queries/endpoints/api_alter_subscription.sql");
const API_UNSUBSCRIBE: &str =
    include_str!("../../../../../sql/queries/endpoints/api_unsubscribe.sql");

pub const ALL: &[Operation] = &[
    list(
        "/api/v1/event-types",
        "listEventTypes",
        "Event types by name",
        shape::<shapes::EventType>,
    )
    .runs(API_EVENT_TYPES),
    post("/api/v1/event-types", "createEventType", "Makes an event type", shape::<shapes::Id>)
        .takes(&[
            field("name", Kind::Text, "Unique").required(),
            field("description", Kind::Text, "For people"),
            field("schema", Kind::Object, "JSON Schema"),
            field("metadata", Kind::Object, "May have a _retry_policy"),
        ])
        .runs(API_CREATE_EVENT_TYPE)
        .creates(),
    get("/api/v1/event-types/{name}", "getEventType", "An event type", shape::<shapes::EventType>)
        .takes(&[path("name", Kind::Text, "Its name")])
        .runs(API_EVENT_TYPE),
    patch(
        "/api/v1/event-types/{name}",
        "updateEventType",
        "Changes an event type",
        shape::<shapes::Altered>,
    )
    .takes(&[
        path("name", Kind::Text, "Its name"),
        field("description", Kind::Text, "An empty one takes it away"),
        field("schema", Kind::Object, "Null takes it away").nullable(),
        field("metadata", Kind::Object, "Null takes it away").nullable(),
    ])
    .runs(API_ALTER_EVENT_TYPE),
    delete(
        "/api/v1/event-types/{name}",
        "deleteEventType",
        "Removes an event type that nobody subscribes to",
        shape::<shapes::Dropped>,
    )
    .takes(&[path("name", Kind::Text, "Its name")])
    .runs(API_DROP_EVENT_TYPE),
    list(
        "/api/v1/subscriptions",
        "listSubscriptions",
        "Subscriptions, ended ones too",
        shape::<shapes::Subscription>,
    )
    .takes(&[
        query("endpoint_name", Kind::Text, "Of this endpoint"),
        query("event_type", Kind::Text, "To this event type or pattern"),
    ])
    .runs(API_SUBSCRIPTIONS)
    .checks(API_CHECK_SUBSCRIBED),
    post(
        "/api/v1/subscriptions",
        "subscribe",
        "From now on an endpoint gets what is published",
        shape::<shapes::Id>,
    )
    .takes(&[
        field("event_type", Kind::Text, "A name, or a pattern such as order.*").required(),
        field("endpoint_name", Kind::Text, "Who gets it").required(),
        field("filter", Kind::Object, "Of payloads that contain this"),
        field("enabled", Kind::Boolean, "true"),
        field("retry_policy", Kind::Object, "Of what comes by it"),
    ])
    .runs(API_SUBSCRIBE)
    .creates(),
    get(
        "/api/v1/subscriptions/{id}",
        "getSubscription",
        "A subscription",
        shape::<shapes::Subscription>,
    )
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_SUBSCRIPTION),
    patch(
        "/api/v1/subscriptions/{id}",
        "updateSubscription",
        "Changes a subscription that has not ended",
        shape::<shapes::Id>,
    )
    .takes(&[
        path("id", Kind::Id, "Its id"),
        field("filter", Kind::Object, "Null takes it away").nullable(),
        field("retry_policy", Kind::Object, "Null takes it away").nullable(),
        field("enabled", Kind::Boolean, "Whether it is in force"),
    ])
    .runs(API_ALTER_SUBSCRIPTION),
    delete(
        "/api/v1/subscriptions/{id}",
        "unsubscribe",
        "Ends a subscription; what was published before is still delivered",
        shape::<shapes::Ended>,
    )
    .takes(&[path("id", Kind::Id, "Its id")])
    .runs(API_UNSUBSCRIBE),
];
