use std::ops::ControlFlow::{Break, Continue};

use super::{
    super::tests::stand::{Stand, take_over, unread},
    *,
};
use crate::{
    results::Results,
    tenure::tests::{FLOW, TARGET, endpoint, sent, unkeyed},
};

const OWNED: Owned = Owned { shard: Shard(0), epoch: 1 };

fn message(number: i64) -> LogMessage {
    sent(unkeyed(number), &[TARGET])
}

fn is_checkpoint(query: &Query) -> bool {
    matches!(query, Query::SaveCheckpoint { .. })
}

/// A crash behind an attempt that nobody knows of would repeat it without using up a retry.
#[test]
fn what_was_read_is_attempted_when_it_is_written_down_that_it_was_taken() {
    let mut stand = Stand::new(9);
    stand.read(vec![message(1)]);
    assert!(stand.attempted().is_empty());
    stand.read(vec![message(2)]);
    let claimed = stand.checkpoint(Vec::new(), Cancels::default());
    assert_eq!(claimed, Some(vec![unkeyed(1).id]), "one at a time, with what was there by then");
    assert_eq!(stand.attempted_numbers(), [1]);
    assert_eq!(stand.checkpoint(Vec::new(), Cancels::default()), Some(vec![unkeyed(2).id]));
    assert_eq!(stand.attempted_numbers(), [2]);
    assert!(!stand.has_asked(is_checkpoint), "all is written down");
}

/// Two would be told apart by nobody, and the older one could be the last.
#[test]
fn one_checkpoint_is_under_way_at_a_time() {
    let mut stand = Stand::new(9);
    stand.read(vec![message(1)]);
    assert!(stand.has_asked(is_checkpoint));
    stand.read(vec![message(2)]);
    stand.pass(Duration::from_secs(9));
    assert!(!stand.has_asked(is_checkpoint));
    stand.take(Event::Claimed(Ok((Vec::new(), Cancels::default()))));
    assert!(stand.has_asked(is_checkpoint));
}

#[test]
fn what_was_not_written_because_a_shard_is_lost_is_written_for_those_that_are_left() {
    let mut stand = Stand::new(9);
    let other = Owned { shard: Shard(1), epoch: 1 };
    let now = stand.now;
    take_over(&mut stand.dispatcher, other, unread(other.shard), Stored::default(), now);
    stand.read(vec![message(1)]);
    assert!(stand.checkpoint(vec![other], Cancels::default()).is_some());
    assert!(stand.attempted().is_empty(), "nothing was written");
    let (owned, claimed) = stand
        .asked(|query| match query {
            Query::SaveCheckpoint { owned, claimed, .. } => Break((owned, claimed)),
            query => Continue(query),
        })
        .expect("it is written at once");
    assert_eq!((owned, claimed), (vec![OWNED], vec![unkeyed(1).id]));
    stand.take(Event::Claimed(Ok((Vec::new(), Cancels::default()))));
    assert_eq!(stand.attempted_numbers(), [1]);
    // Who owns nothing has nothing to write down, and is not woken for it.
    stand.dispatcher.claims.hurry(stand.now);
    stand.dispatcher.lose(&[OWNED]);
    assert!(!stand.has_asked(is_checkpoint));
    assert_eq!(stand.dispatcher.claims.wake_at(), None);
}

/// Senders would be told that the log is less full than it is.
#[test]
fn the_gate_is_told_when_it_is_known_of_all_shards_how_far_they_were_read() {
    let updates_gate = |stand: &mut Stand| {
        stand.dispatcher.claims.hurry(stand.now);
        let found = stand.asked(|query| match query {
            Query::SaveCheckpoint { updates_gate, .. } => Break(updates_gate),
            query => Continue(query),
        });
        stand.take(Event::Claimed(Ok((Vec::new(), Cancels::default()))));
        found.expect("one is written")
    };
    let mut stand = Stand::new(9);
    assert!(!updates_gate(&mut stand), "nothing was read yet");
    stand.read(Vec::new());
    assert!(updates_gate(&mut stand));
    assert!(!updates_gate(&mut stand), "not all the time");
    stand.pass(Duration::from_millis(200));
    assert!(updates_gate(&mut stand));
}

/// What becomes of a message that was taken, when this is known by the time that it is written down.
fn put(prepare: impl Fn(&mut Stand), cancels: Cancels) -> (Vec<i64>, Option<Results>) {
    let mut stand = Stand::new(9);
    stand.read(vec![message(1)]);
    assert!(stand.has_asked(is_checkpoint));
    prepare(&mut stand);
    stand.take(Event::Claimed(Ok((Vec::new(), cancels))));
    let attempted = stand.attempted_numbers();
    let results = stand.flush().map(|recorded| recorded.results);
    assert_eq!(stand.dispatcher.endpoints.buffered(), 0, "it keeps no place");
    (attempted, results)
}

#[test]
fn what_was_taken_goes_unless_it_was_cancelled_or_is_not_ours_to_send_any_more() {
    let (attempted, results) = put(|_| {}, Cancels::default());
    assert_eq!((attempted, results.is_none()), (vec![1], true));

    let place = (unkeyed(1).id, TARGET);
    let committed = Arc::new(HashSet::from_iter([place]));
    let (attempted, results) = put(|_| {}, Cancels { committed, ..Cancels::default() });
    let results = results.expect("that it was read is recorded");
    assert_eq!((attempted, results.read, results.done), (vec![], vec![place], vec![]));

    // Whether it is cancelled is not known: it waits, and is looked at again.
    let under_way = HashSet::from_iter([place.0]);
    let (attempted, results) = put(|_| {}, Cancels { under_way, ..Cancels::default() });
    let [row] = &results.expect("it waits").deferred[..] else { panic!("one waits") };
    assert_eq!((attempted, row.wait_ms), (vec![], CANCEL_PAUSE.as_millis() as i64));

    let stop = |stand: &mut Stand| stand.dispatcher.stop(stand.now);
    let drain = |stand: &mut Stand| stand.dispatcher.drain(OWNED.shard);
    for (attempted, results) in [put(stop, Cancels::default()), put(drain, Cancels::default())] {
        let [row] = &results.expect("it waits").deferred[..] else { panic!("one waits") };
        assert_eq!((attempted, row.retry_count, row.wait_ms), (vec![], 0, 0));
    }

    let lose = |stand: &mut Stand| stand.dispatcher.lose(&[OWNED]);
    let (attempted, results) = put(lose, Cancels::default());
    assert_eq!((attempted, results.is_none()), (vec![], true), "it is somebody else's");
}

/// Its endpoint may be a new one, and nobody would read it before long.
#[test]
fn what_has_no_endpoint_waits_until_the_endpoints_are_read() {
    for is_known_by_then in [true, false] {
        let mut stand = Stand::new(9);
        let row = sent(unkeyed(1), &[Target(2)]);
        stand.read(vec![row]);
        assert!(stand.has_asked(is_checkpoint));
        if is_known_by_then {
            stand.dispatcher.endpoints.apply(endpoint(EndpointId(2), 1, FLOW));
        }
        // The endpoints were read just now.
        stand.dispatcher.upkeep.endpoints.set_due(stand.now + ENDPOINT_REFRESH);
        stand.take(Event::Claimed(Ok((Vec::new(), Cancels::default()))));
        assert!(stand.attempted().is_empty());
        let asks = stand.has_asked(|query| matches!(query, Query::LoadVersions));
        assert_eq!(asks, !is_known_by_then);
        assert_eq!(stand.dispatcher.orphans.iter().count(), usize::from(!is_known_by_then));
        let deferred = stand.flush().map(|recorded| recorded.results.deferred);
        let endpoints: Vec<EndpointId> =
            deferred.into_iter().flatten().map(|row| row.endpoint).collect();
        assert_eq!(endpoints, if is_known_by_then { vec![EndpointId(2)] } else { vec![] });
    }
}
