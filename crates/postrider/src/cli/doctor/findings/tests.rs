use super::*;

fn whats(found: &[Finding]) -> Vec<&str> {
    found.iter().map(|finding| finding.what.as_str()).collect()
}

fn healthy_server() -> Value {
    json!({
        "version": "17.2", "version_number": 170_002, "fsync": "on", "full_page_writes": "on", "autovacuum": "on",
        "track_counts": "on", "connection_count": 10, "max_connections": 97, "frozen_age": 100,
        "freeze_max_age": 200_000_000
    })
}

#[test]
fn a_server_is_judged_by_its_settings() {
    assert_eq!(of_server(&healthy_server()), []);
    for (name, value, expected) in [
        ("version_number", json!(130_009), "the server is PostgreSQL 17.2"),
        ("fsync", json!("off"), "fsync is off"),
        ("autovacuum", json!("off"), "autovacuum is off"),
        ("connection_count", json!(88), "88 of 97 connections are taken"),
        (
            "frozen_age",
            json!(300_000_001),
            "the oldest row is 300000001 transactions old, autovacuum should have frozen it at 200000000",
        ),
    ] {
        let mut server = healthy_server();
        server[name] = value;
        assert_eq!(whats(&of_server(&server)), [expected]);
    }
    let mut server = healthy_server();
    server["connection_count"] = json!(87);
    server["frozen_age"] = json!(300_000_000);
    assert_eq!(of_server(&server), []);
}

#[test]
fn a_clock_may_be_off_by_what_the_way_took() {
    for (offset, doubt, expected) in [
        (0.0, 0.1, None),
        (4.9, 0.0, None),
        (5.5, 0.6, None),
        (-5.5, 0.6, None),
        (5.5, 0.1, Some("this machine's clock is 5.5 s behind the database's")),
        (-60.0, 0.1, Some("this machine's clock is 60.0 s ahead of the database's")),
    ] {
        assert_eq!(whats(&of_clock(offset, doubt)), expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn who_holds_back_vacuum_is_named_with_what_ends_it() {
    let session = |seconds: i64, age: i64| {
        json!({"sessions": [{"pid": 7, "role": "shop", "database": "shop", "application": null,
            "state": "idle in transaction", "seconds": seconds, "xid_age": age}]})
    };
    assert_eq!(of_holders(&session(599, 0)), []);
    assert_eq!(of_holders(&session(0, 10_000_000)).len(), 1);
    let found = of_holders(&session(600, 0));
    let what = "session 7 of role shop (no application_name, idle in transaction, database shop) has a \
                transaction open for 600 s";
    assert_eq!(
        (whats(&found), found[0].command.as_str()),
        (vec![what], "psql -c 'select pg_terminate_backend(7)'")
    );

    let found = of_holders(&json!({"hidden_count": 3, "role": "monitor"}));
    assert_eq!(whats(&found), ["3 sessions cannot be seen by role monitor"]);

    let prepared = |seconds: i64| json!({"prepared": [{"gid": "it's", "database": "d", "role": "r", "seconds": seconds}]});
    assert_eq!(of_holders(&prepared(299)), []);
    assert_eq!(of_holders(&prepared(300))[0].command, "psql -d d -c \"rollback prepared 'it''s'\"");

    let slot = |active: bool, age: i64, bytes: i64| json!({"slots": [{"name": "s", "active": active, "xid_age": age, "retained_bytes": bytes}]});
    assert_eq!(of_holders(&slot(true, 1, (1 << 30) - 1)), []);
    assert_eq!(of_holders(&slot(true, 1, 1 << 30))[0].command, "look why its reader is slow");
    assert_eq!(
        of_holders(&slot(false, 0, 0))[0].command,
        "psql -c \"select pg_drop_replication_slot('s')\""
    );
}

#[test]
fn settings_have_to_fit_together() {
    let settings = |pairs: &[(&str, &str)]| -> Vec<Value> {
        pairs.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    };
    let fitting = settings(&[
        ("http_timeout", "10"),
        ("http_connect_timeout", "10"),
        ("retry_base_delay", "300"),
        ("retry_max_delay", "300"),
        ("allow_internal_destinations", "10.0.0.0/8"),
        ("allow_any_port", "off"),
        ("capture_response", "off"),
        ("response_body_max_size", "0"),
    ]);
    assert_eq!(of_settings(&fitting), []);
    for (pairs, expected) in [
        (
            &[("http_timeout", "9"), ("http_connect_timeout", "10")][..],
            "http_connect_timeout is 10, more than http_timeout, which is 9",
        ),
        (
            &[("retry_base_delay", "301"), ("retry_max_delay", "300")],
            "retry_base_delay is 301, more than retry_max_delay, which is 300",
        ),
        (&[("allow_internal_destinations", "on")], "allow_internal_destinations is on"),
        (&[("allow_any_port", "on")], "allow_any_port is on"),
        (
            &[("capture_response", "on"), ("response_body_max_size", "0")],
            "capture_response is on, and response_body_max_size is 0",
        ),
    ] {
        assert_eq!(whats(&of_settings(&settings(pairs))), [expected]);
    }
}

#[test]
fn the_rest_is_named() {
    let indexes = json!({"missing": ["a"], "invalid": ["b"]});
    let found = of_indexes(&indexes);
    assert_eq!(whats(&found), ["index postrider.a is missing", "index postrider.b is invalid"]);
    assert_eq!(found[1].command, "psql -c 'reindex index concurrently postrider.b'");
    assert_eq!(of_indexes(&json!({"missing": [], "invalid": []})), []);

    let found = of_roles(&json!({"missing": ["p_admin", "p_monitor"], "is_public": true}));
    assert!(
        found[0]
            .command
            .starts_with("psql -c 'create role \"p_admin\" nologin' -c 'create role \"p_monitor\"")
    );
    assert_eq!(found[1].what, "everybody has rights on the schema postrider");
    assert_eq!(of_roles(&json!({"missing": [], "is_public": false})), []);

    let dispatcher = |version: &str| json!({"id": 3, "host": "h", "pid": 9, "version": version});
    assert_eq!(of_dispatchers(&[dispatcher("1.0")], "1.0"), []);
    let found = of_dispatchers(&[dispatcher("1.0"), dispatcher("0.9")], "1.0");
    assert_eq!(
        whats(&found),
        ["dispatcher 3 on host h (process 9) is version 0.9, this program 1.0"]
    );

    let endpoint = |enabled: bool, paused: bool, circuit: &str, waiting: i64| {
        json!({"endpoint_name": "a", "enabled": enabled, "paused": paused, "circuit_state": circuit,
            "pending_messages": waiting})
    };
    for (row, command) in [
        (endpoint(true, false, "closed", 5), None),
        (endpoint(false, false, "closed", 0), None),
        (endpoint(false, false, "open", 5), Some("postrider endpoint enable a")),
        (endpoint(true, true, "closed", 5), Some("postrider endpoint resume a")),
        (endpoint(true, false, "open", 0), Some("postrider endpoint test a")),
    ] {
        let found = of_endpoints(std::slice::from_ref(&row));
        assert_eq!(found.first().map(|finding| finding.command.as_str()), command, "{row}");
    }

    let component =
        |name: &str, status: &str| json!({"component": name, "status": status, "details": "x"});
    let found = of_health(&[
        component("dispatchers", "unhealthy"),
        component("lag", "healthy"),
        component("oldest transaction", "unhealthy"),
        component("something new", "degraded"),
    ]);
    assert_eq!(whats(&found), ["dispatchers: unhealthy: x", "something new: degraded: x"]);
    assert_eq!(found[0].command, "postrider serve");

    let table = json!({"name": "deferred", "dead_count": 500_000, "live_count": 3});
    assert_eq!(
        of_tables(&[table])[0].command,
        "psql -c 'vacuum (verbose, analyze) postrider.deferred'"
    );
}
