//! What answers of the database mean, and what is to be done: no I/O, and no time but what is given.

use serde_json::{Value, json};

/// A transaction that is open for so long is forgotten rather than busy. One that is prepared waits for somebody.
const OPEN_SECONDS: i64 = 600;
const PREPARED_SECONDS: i64 = 300;
/// Transactions that vacuum may not look behind, and bytes of the log that the server keeps.
const XID_AGE: i64 = 10_000_000;
const RETAINED_BYTES: i64 = 1 << 30;
/// How far a clock may be off, in seconds.
const CLOCK_SECONDS: f64 = 5.0;
/// The share of connections that may be taken, in percent.
const CONNECTION_SHARE: i64 = 90;
/// The first version that we run on.
const VERSION_MIN: i64 = 140_000;

/// Something that had better be otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What is.
    pub what: String,
    /// Why that matters.
    pub why: &'static str,
    /// What to type.
    pub command: String,
}

impl Finding {
    fn new(what: String, why: &'static str, command: impl Into<String>) -> Self {
        Self { what, why, command: command.into() }
    }

    pub fn as_json(&self, check: &str) -> Value {
        json!({ "check": check, "what": self.what, "why": self.why, "command": self.command })
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn rows<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

/// Of the server's version, settings and connections.
pub fn of_server(server: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    if number(&server["version_number"]) < VERSION_MIN {
        found.push(Finding::new(
            format!("the server is PostgreSQL {}", text(&server["version"])),
            "Postrider is tested from version 14 on",
            "upgrade the server",
        ));
    }
    for (name, why) in [
        (
            "fsync",
            "a crash of the machine can lose messages that were committed, and the whole database",
        ),
        ("full_page_writes", "a crash of the machine can leave pages half written"),
        ("autovacuum", "tables grow for ever, and queries become slow"),
        ("track_counts", "autovacuum does not hear of changes, and tables grow for ever"),
    ] {
        if server[name] == "off" {
            let command =
                format!("psql -c 'alter system set {name} = on' -c 'select pg_reload_conf()'");
            found.push(Finding::new(format!("{name} is off"), why, command));
        }
    }
    let (count, max) = (number(&server["connection_count"]), number(&server["max_connections"]));
    if max > 0 && count * 100 >= max * CONNECTION_SHARE {
        found.push(Finding::new(
            format!("{count} of {max} connections are taken"),
            "senders and dispatchers are refused when none is left",
            format!(
                "psql -c 'alter system set max_connections = {}'    # and restart the server",
                (max * 2).max(100)
            ),
        ));
    }
    let (age, max) = (number(&server["frozen_age"]), number(&server["freeze_max_age"]));
    if max > 0 && age > max + max / 2 {
        found.push(Finding::new(
            format!("the oldest row is {age} transactions old, autovacuum should have frozen it at {max}"),
            "the server stops taking transactions at 2,000,000,000",
            "psql -c 'vacuum (freeze, verbose)'",
        ));
    }
    found
}

/// Of our clock and the database's. `offset` is how far the database's is ahead, `doubt` how much of that may be
/// the way there and back; in seconds.
pub fn of_clock(offset: f64, doubt: f64) -> Vec<Finding> {
    if offset.abs() - doubt < CLOCK_SECONDS {
        return Vec::new();
    }
    let (distance, side) = (offset.abs(), if offset > 0.0 { "behind" } else { "ahead of" });
    vec![Finding::new(
        format!("this machine's clock is {distance:.1} s {side} the database's"),
        "signatures carry a dispatcher's time, and receivers refuse what is minutes old",
        "timedatectl set-ntp true",
    )]
}

/// Of who holds back vacuum.
pub fn of_holders(holders: &Value) -> Vec<Finding> {
    const WHY: &str = "vacuum cannot remove what was deleted since, and queries become slower";
    let mut found = Vec::new();
    for session in rows(holders, "sessions") {
        let seconds = number(&session["seconds"]);
        if seconds < OPEN_SECONDS && number(&session["xid_age"]) < XID_AGE {
            continue;
        }
        let pid = number(&session["pid"]);
        let application = session["application"].as_str().unwrap_or("no application_name");
        let what = format!(
            "session {pid} of role {} ({application}, {}, database {}) has a transaction open for {seconds} s",
            text(&session["role"]),
            text(&session["state"]),
            text(&session["database"]),
        );
        found.push(Finding::new(
            what,
            WHY,
            format!("psql -c 'select pg_terminate_backend({pid})'"),
        ));
    }
    let hidden = number(&holders["hidden_count"]);
    if hidden > 0 {
        found.push(Finding::new(
            format!("{hidden} sessions cannot be seen by role {}", text(&holders["role"])),
            "who holds back vacuum may be among them",
            format!("psql -c 'grant pg_read_all_stats to \"{}\"'", text(&holders["role"])),
        ));
    }
    for prepared in rows(holders, "prepared") {
        let seconds = number(&prepared["seconds"]);
        if seconds < PREPARED_SECONDS {
            continue;
        }
        let gid = text(&prepared["gid"]);
        let what = format!(
            "transaction '{gid}' of role {} is prepared for {seconds} s in database {}",
            text(&prepared["role"]),
            text(&prepared["database"])
        );
        let database = text(&prepared["database"]);
        let command =
            format!("psql -d {database} -c \"rollback prepared '{}'\"", gid.replace('\'', "''"));
        found.push(Finding::new(what, WHY, command));
    }
    for slot in rows(holders, "slots") {
        let (name, age) = (text(&slot["name"]), number(&slot["xid_age"]));
        let bytes = number(&slot["retained_bytes"]);
        let is_used = slot["active"] == true;
        if is_used && age < XID_AGE && bytes < RETAINED_BYTES {
            continue;
        }
        let state = if is_used { "lags" } else { "is not in use" };
        found.push(Finding::new(
            format!("replication slot {name} {state}: it keeps {bytes} bytes of the log, and {age} transactions"),
            "the server keeps the log until its disk is full, and vacuum may be held back",
            match is_used {
                true => "look why its reader is slow".to_owned(),
                false => format!("psql -c \"select pg_drop_replication_slot('{name}')\""),
            },
        ));
    }
    found
}

/// Of tables with dead rows.
pub fn of_tables(tables: &[Value]) -> Vec<Finding> {
    let finding = |table: &Value| {
        let name = text(&table["name"]);
        Finding::new(
            format!(
                "table postrider.{name} has {} dead rows beside {} live ones",
                number(&table["dead_count"]),
                number(&table["live_count"])
            ),
            "reading it takes longer the more of them there are",
            format!("psql -c 'vacuum (verbose, analyze) postrider.{name}'"),
        )
    };
    tables.iter().map(finding).collect()
}

/// Of indexes.
pub fn of_indexes(indexes: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    for name in rows(indexes, "missing").map(text) {
        found.push(Finding::new(
            format!("index postrider.{name} is missing"),
            "a query that needs it reads the whole table instead",
            format!(
                "postrider migrate --print | grep -A3 'index {name} '    # and run that statement"
            ),
        ));
    }
    for name in rows(indexes, "invalid").map(text) {
        found.push(Finding::new(
            format!("index postrider.{name} is invalid"),
            "it costs every write and serves no query",
            format!("psql -c 'reindex index concurrently postrider.{name}'"),
        ));
    }
    found
}

/// Of roles and their rights.
pub fn of_roles(roles: &Value) -> Vec<Finding> {
    let mut found = Vec::new();
    let missing: Vec<&str> = rows(roles, "missing").map(text).collect();
    if !missing.is_empty() {
        let create: Vec<_> =
            missing.iter().map(|name| format!("-c 'create role \"{name}\" nologin'")).collect();
        found.push(Finding::new(
            format!("there is no role {}", missing.join(", ")),
            "nobody but the owner can be given what they may do",
            format!(
                "psql {}    # as somebody who may, and then: postrider migrate",
                create.join(" ")
            ),
        ));
    }
    if roles["is_public"] == true {
        found.push(Finding::new(
            "everybody has rights on the schema postrider".to_owned(),
            "a right that everybody has is no longer decided by roles",
            "psql -c 'revoke all on schema postrider from public'",
        ));
    }
    found
}

/// Of settings that do not fit together, or open a door.
pub fn of_settings(settings: &[Value]) -> Vec<Finding> {
    let get = |name: &str| {
        let row = settings.iter().find(|row| row["name"] == name);
        row.map_or("", |row| text(&row["value"]))
    };
    let seconds = |name: &str| get(name).parse::<f64>().unwrap_or_default();
    let mut found = Vec::new();
    for (small, large, why) in [
        ("http_connect_timeout", "http_timeout", "the answer is given up before a connection is"),
        ("retry_base_delay", "retry_max_delay", "the first wait is cut, and none is ever longer"),
    ] {
        let (low, high) = (seconds(small), seconds(large));
        if low > high {
            let what = format!("{small} is {low}, more than {large}, which is {high}");
            found.push(Finding::new(what, why, format!("postrider setting reset {small}")));
        }
    }
    for (name, why) in [
        (
            "allow_internal_destinations",
            "whoever makes an endpoint reaches every address inside your network",
        ),
        ("allow_any_port", "whoever makes an endpoint reaches services that do not speak HTTP"),
    ] {
        if get(name) == "on" {
            let command = match name {
                "allow_internal_destinations" => format!(
                    "postrider setting set {name} 10.1.2.0/24    # only those that are meant"
                ),
                _ => format!("postrider setting reset {name}"),
            };
            found.push(Finding::new(format!("{name} is on"), why, command));
        }
    }
    if get("capture_response") == "on" && get("response_body_max_size") == "0" {
        found.push(Finding::new(
            "capture_response is on, and response_body_max_size is 0".to_owned(),
            "answers are recorded without what they say",
            "postrider setting reset response_body_max_size",
        ));
    }
    found
}

/// Of dispatchers: their versions, compared with `ours`.
pub fn of_dispatchers(dispatchers: &[Value], ours: &str) -> Vec<Finding> {
    let other = |row: &&Value| row["version"].as_str().is_some_and(|version| version != ours);
    let finding = |row: &Value| {
        Finding::new(
            format!(
                "dispatcher {} on host {} (process {}) is version {}, this program {ours}",
                row["id"],
                text(&row["host"]),
                row["pid"],
                text(&row["version"])
            ),
            "different versions may follow different rules",
            "restart `postrider serve` there with the newer program",
        )
    };
    dispatchers.iter().filter(other).map(finding).collect()
}

/// Of endpoints that are not sent to although something waits, or whose circuit is not closed.
pub fn of_endpoints(endpoints: &[Value]) -> Vec<Finding> {
    let mut found = Vec::new();
    for row in endpoints {
        let name = text(&row["endpoint_name"]);
        let waiting = number(&row["pending_messages"]);
        let circuit = text(&row["circuit_state"]);
        if row["enabled"] == false && waiting > 0 {
            found.push(Finding::new(
                format!("endpoint {name} is disabled, and {waiting} messages wait for it"),
                "they keep partitions of the log from being dropped",
                format!("postrider endpoint enable {name}"),
            ));
        } else if row["paused"] == true && waiting > 0 {
            found.push(Finding::new(
                format!("endpoint {name} is paused, and {waiting} messages wait for it"),
                "nothing is delivered until somebody resumes it",
                format!("postrider endpoint resume {name}"),
            ));
        } else if circuit == "open" || circuit == "half_open" {
            found.push(Finding::new(
                format!("the circuit of endpoint {name} is {circuit}; {waiting} messages wait"),
                "it does not accept what it is sent",
                format!("postrider endpoint test {name}"),
            ));
        }
    }
    found
}

/// Of what the service says of itself, as far as nothing else here looks closer.
pub fn of_health(components: &[Value]) -> Vec<Finding> {
    let advice = |component: &str| match component {
        "dispatchers" => Some(("without one nothing is delivered", "postrider serve")),
        "shards" => Some(("messages of a shard that nobody has wait", "postrider serve")),
        "partitions" => {
            Some(("messages without a partition are refused", "postrider partition maintain"))
        }
        "lag" => Some(("what is sent now arrives late", "postrider status")),
        "clock" => Some((
            "signatures carry a dispatcher's time",
            "timedatectl set-ntp true    # on that host",
        )),
        "locks" => {
            Some(("senders or dispatchers wait for it", "postrider health    # names who it is"))
        }
        "consumers" => Some(("somebody does not get what was sent", "postrider consumer list")),
        "fleets" => Some(("executions wait or fail", "postrider worker list")),
        "failovers" => Some(("messages of that time are to be looked at", "postrider events")),
        // The holders are looked at one by one.
        "oldest transaction" => None,
        _ => Some(("the service is not well", "postrider health")),
    };
    let finding = |row: &Value| {
        let component = text(&row["component"]);
        let (why, command) = advice(component)?;
        (row["status"] != "healthy").then(|| {
            let what = format!("{component}: {}: {}", text(&row["status"]), text(&row["details"]));
            Finding::new(what, why, command)
        })
    };
    components.iter().filter_map(finding).collect()
}

#[cfg(test)]
mod tests;
