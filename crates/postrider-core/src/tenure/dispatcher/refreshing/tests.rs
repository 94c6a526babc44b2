use std::ops::ControlFlow::{Break, Continue};

use super::{super::tests::stand::Stand, *};
use crate::tenure::tests::{
    ENDPOINT, FLOW, TARGET, disabled, endpoint, read, sent, unkeyed, waiting,
};

const GONE: EndpointId = EndpointId(2);

/// All endpoints there are, of which these were read.
fn endpoints(stand: &mut Stand, versions: &[(EndpointId, i64)], rows: Vec<OpenedEndpoint>) {
    stand.take(Event::Endpoints(Ok((versions.to_vec(), rows))));
}

fn versions_asked(stand: &mut Stand) -> bool {
    stand.has_asked(|query| matches!(query, Query::LoadVersions))
}

/// One for a target that nobody knows.
fn orphan(number: i64) -> Delivery {
    read(sent(unkeyed(number), &[Target(GONE.0)])).remove(0)
}

#[test]
fn endpoints_are_read_now_and_then_and_those_that_have_changed_in_whole() {
    let mut stand = Stand::new(1);
    stand.pass(ENDPOINT_REFRESH);
    assert!(versions_asked(&mut stand));
    stand.pass(ENDPOINT_REFRESH);
    assert!(!versions_asked(&mut stand), "it is under way");
    let versions = [(ENDPOINT, 2), (GONE, 1)];
    endpoints(&mut stand, &versions, Vec::new());
    let changed = stand.asked(|query| match query {
        Query::LoadEndpoints(of, changed) if of == versions => Break(changed),
        query => Continue(query),
    });
    assert_eq!(changed, Some(vec![ENDPOINT, GONE]));
    assert!(!versions_asked(&mut stand), "they are not read yet");
    let rows = [(ENDPOINT, 2), (GONE, 1)].map(|(id, version)| endpoint(id, version, FLOW));
    endpoints(&mut stand, &versions, rows.into());
    assert!(stand.dispatcher.endpoints.is_known(GONE));
    assert!(versions_asked(&mut stand), "two intervals are over");
}

/// They would wait for ever, and take places that nobody gives back.
#[test]
fn what_is_queued_for_an_endpoint_that_is_gone_is_dead() {
    let mut stand = Stand::new(1);
    let known = [(ENDPOINT, 1), (GONE, 1)];
    endpoints(&mut stand, &known, vec![endpoint(GONE, 1, FLOW)]);
    let other = |number| sent(unkeyed(number), &[Target(GONE.0)]);
    let keyed = |number| sent(waiting(number), &[Target(GONE.0)]);
    // One of them is on its way, one queued, and one ready behind another of its key.
    stand.send(vec![keyed(1), keyed(2), other(3), sent(unkeyed(4), &[TARGET])]);
    let is_there = |delivery: &Delivery| delivery.endpoint == GONE;
    let attempted: Vec<Delivery> = stand.attempted().into_iter().filter(is_there).collect();
    let [flying] = &attempted[..] else { panic!("it takes one at a time") };
    let is_queued = |number: &i64| *number != flying.message.id.sequence_number();
    let queued: Vec<_> =
        (1..4).filter(is_queued).map(|number| (number, "endpoint_dropped")).collect();
    stand.take(Event::Endpoints(Ok((vec![(ENDPOINT, 1)], Vec::new()))));
    let results = stand.recorded();
    let mut dead: Vec<_> =
        results.dead.iter().map(|dead| (dead.id.sequence_number(), dead.cause)).collect();
    dead.sort_unstable();
    assert_eq!(dead, queued);
    assert_eq!((stand.dispatcher.endpoints.buffered(), stand.dispatcher.in_flight()), (0, 1));
    let is_closed = |command: &Command| matches!(command, Command::Close(_));
    assert_eq!(stand.commands.iter().filter(|command| is_closed(command)).count(), 1);
    let is_told = |command: &Command| matches!(command, Command::Wish(Wish::Orphans));
    assert!(stand.commands.iter().any(is_told), "others may have something in the table");
    let measured = stand.dispatcher.take_measured();
    assert!(matches!(measured[..], [Measured::Gone(GONE)]), "{measured:?}");
}

/// Its chains would wait for what was stored there.
#[test]
fn what_is_behind_one_of_an_endpoint_that_is_gone_goes_on() {
    let mut stand = Stand::new(9);
    stand.set("ordering_scope", "global");
    endpoints(&mut stand, &[(ENDPOINT, 1), (GONE, 1)], vec![endpoint(GONE, 1, FLOW)]);
    let stored = Link { key: "key".into(), id: waiting(1).id, endpoint: GONE };
    stand.dispatcher.chains.inherit(&stored);
    let here = Link { key: "key".into(), id: waiting(2).id, endpoint: ENDPOINT };
    stand.dispatcher.chains.inherit(&here);
    endpoints(&mut stand, &[(ENDPOINT, 1)], Vec::new());
    let asked = stand.asked(|query| match query {
        Query::FetchFollowers(asked, _) => Break(asked.len()),
        query => Continue(query),
    });
    assert_eq!(asked, Some(1));
}

/// It is dead only if nobody has made an endpoint for it by the time that all of them were read.
#[test]
fn what_has_no_endpoint_is_dead_when_all_were_read_since() {
    let mut stand = Stand::new(1);
    stand.dispatcher.orphans.add(orphan(1));
    stand.pass(ENDPOINT_REFRESH);
    assert!(versions_asked(&mut stand));
    stand.dispatcher.orphans.add(orphan(2));
    endpoints(&mut stand, &[(ENDPOINT, 1)], Vec::new());
    let dead = stand.recorded().dead;
    assert_eq!(dead.iter().map(|dead| dead.id).collect::<Vec<_>>(), [unkeyed(1).id]);
    assert_eq!(stand.dispatcher.orphans.iter().count(), 1, "it came since");

    let mut stand = Stand::new(1);
    stand.dispatcher.orphans.add(orphan(1));
    stand.dispatcher.orphans.ask();
    stand.dispatcher.orphans.add(orphan(2));
    endpoints(&mut stand, &[(ENDPOINT, 1), (GONE, 1)], vec![endpoint(GONE, 1, FLOW)]);
    let deferred = stand.recorded().deferred;
    let rows = deferred.iter().map(|row| (row.id.sequence_number(), row.endpoint));
    assert!(rows.eq([(1, GONE), (2, GONE)]), "both go where they belong");
    assert_eq!(stand.dispatcher.orphans.iter().count(), 0);
}

#[test]
fn an_endpoint_that_is_disabled_keeps_nothing_in_memory() {
    let mut stand = Stand::new(1);
    stand.send((1..4).map(|number| sent(unkeyed(number), &[TARGET])).collect());
    assert_eq!(stand.attempted_numbers(), [1]);
    endpoints(&mut stand, &[(ENDPOINT, 2)], vec![disabled(endpoint(ENDPOINT, 2, FLOW))]);
    assert_eq!(stand.dispatcher.endpoints.buffered(), 0);
    let deferred = stand.recorded().deferred;
    assert!(deferred.iter().map(|row| row.id.sequence_number()).eq([2, 3]));
}

/// One that was enabled has what is due, and nobody has looked for that.
#[test]
fn what_is_due_is_looked_for_when_endpoints_have_been_read() {
    let mut stand = Stand::new(1);
    stand.dispatcher.hands.fetch.set_due(stand.now + DEFERRED_REFRESH);
    endpoints(&mut stand, &[(ENDPOINT, 1)], Vec::new());
    assert_eq!(stand.dispatcher.hands.fetch.wake_at(), Some(stand.now));
}

#[test]
fn settings_are_followed_by_all_whom_they_concern() {
    let mut stand = Stand::new(1);
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let settings = vec![
        own("default_max_retries", "3"),
        own("deliver_before_durable", "on"),
        own("http_timeout", "77"),
        own("ordering_scope", "global"),
    ];
    let event_type_policies = vec![("order".to_owned(), serde_json::json!({ "max_retries": 4 }))];
    stand.take(Event::Settings(Ok(SharedSettings { settings, event_type_policies })));
    assert_eq!(stand.dispatcher.chains.scope(), Scope::Global);
    let mut row = unkeyed(1);
    let retries = |stand: &Stand, row: &DueDelivery| {
        stand.dispatcher.policy(&Delivery::due(row.clone(), 1)).max_retries()
    };
    assert_eq!(retries(&stand, &row), 3);
    row.content.event_type = Some("order".into());
    assert_eq!(retries(&stand, &row), 4);
    stand.step();
    let is_waived = |command: &Command| matches!(command, Command::WaiveDurability(true));
    assert!(stand.commands.iter().any(is_waived));
    let timeout = Duration::from_secs(77);
    let follows = |command: &Command| matches!(command, Command::Follow(settings) if settings.http_timeout == timeout);
    assert!(stand.commands.iter().any(follows));
    stand.pass(ENDPOINT_REFRESH);
    assert!(stand.has_asked(|query| matches!(query, Query::LoadSettings)), "they are read again");
}

/// Somebody holds it locked, or was quicker: what we think of it is not what it is.
#[test]
fn an_endpoint_that_we_could_not_retire_is_read_again() {
    let passing = || Failure::new("it is locked", true);
    for (answer, is_doubted) in [(Ok(true), false), (Ok(false), true), (Err(passing()), true)] {
        let mut stand = Stand::new(1);
        stand.take(Event::Retired(ENDPOINT, answer));
        assert!(versions_asked(&mut stand), "at once");
        let found = stand.dispatcher.endpoints.compare(&[(ENDPOINT, 1)]);
        assert_eq!(found.changed.is_empty(), !is_doubted);
    }
}

#[test]
fn what_is_due_next_is_asked_for_now_and_then_and_may_be_for_an_endpoint_that_is_new() {
    for (id, is_new) in [(ENDPOINT, false), (GONE, true)] {
        let mut stand = Stand::new(1);
        stand.dispatcher.hands.fetch.set_due(stand.now + DEFERRED_REFRESH);
        let at = stand.dispatcher.clock.timestamp(stand.now);
        stand.take(Event::Waiting(Ok(vec![(id, at)])));
        assert_eq!(versions_asked(&mut stand), is_new);
        let fetches = stand.has_asked(|query| matches!(query, Query::FetchDue { .. }));
        assert_eq!(fetches, !is_new);
        let is_next = |query: &Query| matches!(query, Query::FetchNext(_));
        stand.pass(DEFERRED_REFRESH - Duration::from_millis(1));
        assert!(!stand.has_asked(is_next));
        stand.pass(Duration::from_millis(1));
        assert!(stand.has_asked(is_next));
    }
}

#[test]
fn the_tables_are_kept_every_minute_one_time_after_the_other() {
    let mut stand = Stand::new(1);
    let is_maintenance = |query: &Query| matches!(query, Query::Maintain(_));
    stand.pass(MAINTENANCE);
    assert!(stand.has_asked(is_maintenance));
    stand.pass(MAINTENANCE);
    assert!(!stand.has_asked(is_maintenance));
    stand.take(Event::Maintained(Ok(())));
    assert!(stand.has_asked(is_maintenance));
}
