use super::{
    super::tests::stand::{Stand, take_over, unread},
    *,
};
use crate::{
    tenure::tests::{ENDPOINT, TARGET, read_one, sent, unkeyed, waiting},
    timestamp::EPOCH_US,
};

const OWNED: Owned = Owned { shard: Shard(0), epoch: 1 };

fn claims(stand: &mut Stand) -> bool {
    stand.has_asked(|query| matches!(query, Query::Claim { .. }))
}

/// Whoever forgets it before would fetch it again, and attempt it twice.
#[test]
fn what_waits_is_in_hand_until_its_end_is_on_record() {
    let mut stand = Stand::new(1);
    stand.fetch_claimed(vec![unkeyed(1)]);
    stand.land_all(Outcome::Accepted);
    let recorded = stand.flush().expect("it is recorded");
    stand.fetch(vec![unkeyed(1)]);
    assert!(!claims(&mut stand), "the table still has it");
    // An answer that is on its way while it is recorded may be older.
    stand.dispatcher.hands.fetch.start();
    stand.record(recorded);
    assert_eq!(stand.dispatcher.hands.count(), 0);
    stand.fetch(vec![unkeyed(1)]);
    assert!(!claims(&mut stand), "it was asked for before");
    stand.fetch(vec![unkeyed(1)]);
    assert!(claims(&mut stand), "somebody has brought it back");
}

#[test]
fn one_flush_is_under_way_at_a_time() {
    let mut stand = Stand::new(9);
    stand.send((1..3).map(|number| sent(unkeyed(number), &[TARGET])).collect());
    let mut attempted = stand.attempted();
    stand.land(attempted.remove(0), Outcome::Accepted);
    let recorded = stand.flush().expect("it is recorded");
    stand.land(attempted.remove(0), Outcome::Accepted);
    assert!(stand.flush().is_none());
    stand.record(recorded);
    assert!(stand.flush_now().is_some());
}

/// The checkpoint says *done up to here*, and what it says is never attempted again.
#[test]
fn a_message_is_finished_when_its_end_is_on_record() {
    let mut stand = Stand::new(1);
    stand.send(vec![sent(unkeyed(1), &[TARGET])]);
    stand.land_all(Outcome::Accepted);
    let recorded = stand.flush().expect("it is recorded");
    let lane = unkeyed(1).id.lane();
    let is_finished = |stand: &mut Stand| {
        stand.dispatcher.lanes.get_mut(lane).is_some_and(|owned| owned.reader.is_settled())
    };
    assert!(!is_finished(&mut stand));
    stand.dispatcher.claims.pass();
    stand.record(recorded);
    assert!(is_finished(&mut stand));
    assert_eq!(stand.dispatcher.account.pending(), 0);
    assert!(stand.dispatcher.claims.wake_at().is_some(), "somebody has to say so");
}

#[test]
fn what_waited_and_has_ended_makes_room_for_senders() {
    let mut stand = Stand::new(1);
    stand.fetch_claimed(vec![unkeyed(1)]);
    stand.land_all(Outcome::Accepted);
    stand.dispatcher.claims.pass();
    stand.recorded();
    assert!(stand.dispatcher.claims.wake_at().is_some(), "they learn of it from a checkpoint");
}

/// Else a successor would find it behind one that has not ended, and take it for not attempted.
#[test]
fn what_is_behind_another_of_its_key_goes_when_the_end_of_that_is_on_record() {
    let mut stand = Stand::new(9);
    stand.send((1..3).map(|number| sent(waiting(number), &[TARGET])).collect());
    stand.land_all(Outcome::Accepted);
    let recorded = stand.flush_now().expect("at once, for somebody waits for it");
    assert!(stand.attempted().is_empty());
    stand.record(recorded);
    assert_eq!(stand.attempted_numbers(), [2]);
}

/// The answer would lack it, and what is behind it would be taken for the first.
#[test]
fn a_key_of_which_something_is_being_stored_is_asked_for_when_that_is_on_record() {
    let mut stand = Stand::new(9);
    stand.send(vec![sent(waiting(1), &[TARGET])]);
    stand.land_all(Outcome::Unknown);
    let is_asked = |query: &Query| matches!(query, Query::FetchFollowers(..));
    stand.dispatcher.want_all_stored(|_| true);
    assert!(!stand.has_asked(is_asked));
    let recorded = stand.flush().expect("it waits in the table");
    assert!(!stand.has_asked(is_asked));
    stand.record(recorded);
    stand.pass(IDLE_FETCH_PAUSE);
    assert!(stand.has_asked(is_asked));
}

#[test]
fn what_somebody_holds_is_recorded_later_and_not_forgotten_before() {
    let mut stand = Stand::new(9);
    stand.fetch_claimed(vec![unkeyed(1), unkeyed(2)]);
    stand.land_all(Outcome::Accepted);
    let mut recorded = stand.flush().expect("they are recorded");
    let held = recorded.set_aside(&HashSet::from_iter([(unkeyed(1).id, TARGET)]));
    let flushed = Flushed { recorded, held, lost: Vec::new() };
    stand.take(Event::Flushed(Ok(Box::new(flushed))));
    assert_eq!(stand.dispatcher.hands.places().collect::<Vec<_>>(), [(unkeyed(1).id, TARGET)]);
    assert!(stand.flush().is_none(), "not all the time");
    stand.pass(HELD_PAUSE);
    stand.step();
    let recorded = stand.flush().expect("it is tried again");
    assert_eq!(recorded.results.settled, [(unkeyed(1).id, TARGET)]);
    stand.record(recorded);
    assert_eq!(stand.dispatcher.hands.count(), 0);
}

/// It was written for the others, or for nobody: what is in hand of them stays so.
#[test]
fn a_flush_that_finds_a_shard_lost_loses_it() {
    let mut stand = Stand::new(1);
    stand.send((1..3).map(|number| sent(unkeyed(number), &[TARGET])).collect());
    stand.land_all(Outcome::Accepted);
    // What belongs to it was not recorded, and is left out of the answer.
    let mut recorded = stand.flush().expect("something is to be recorded");
    recorded.forget(&[OWNED.shard]);
    let flushed = Flushed { recorded, held: Gathered::default(), lost: vec![OWNED] };
    stand.take(Event::Flushed(Ok(Box::new(flushed))));
    assert!(stand.dispatcher.lanes.is_empty());
    assert_eq!((stand.dispatcher.endpoints.buffered(), stand.dispatcher.account.pending()), (0, 0));
}

/// Its answer comes late, and is about the time before.
#[test]
fn a_flush_of_a_shard_that_was_lost_and_is_ours_again_says_nothing_of_it() {
    let mut stand = Stand::new(1);
    stand.send(vec![sent(unkeyed(1), &[TARGET])]);
    stand.land_all(Outcome::Unavailable { retry_after: None });
    let place = (unkeyed(2).id, TARGET);
    stand.fetch_claimed(vec![unkeyed(2)]);
    stand.land_all(Outcome::Accepted);
    let mut recorded = stand.flush().expect("something is to be recorded");
    let held = recorded.set_aside(&HashSet::from_iter([place]));
    stand.dispatcher.lose(&[OWNED]);
    let again = Owned { epoch: OWNED.epoch + 1, ..OWNED };
    let now = stand.now;
    take_over(&mut stand.dispatcher, again, unread(OWNED.shard), Stored::default(), now);
    let flushed = Flushed { recorded, held, lost: Vec::new() };
    stand.take(Event::Flushed(Ok(Box::new(flushed))));
    assert_eq!(stand.dispatcher.account.pending_of(OWNED.shard), 0);
    stand.pass(HELD_PAUSE);
    stand.step();
    let later = stand.flush().expect("what is put down stays in hand until then");
    assert!(later.results.is_empty() && later.put_down == [place]);
}

/// It may be the only one, so nobody looks for it at its time otherwise.
#[test]
fn what_waits_from_now_on_is_looked_for_when_it_is_due_or_expires() {
    let [soon, late] = [1, 3].map(Duration::from_secs);
    for (wait, expires, is_blocked, expected) in [
        (soon, None, false, Some(soon)),
        (late, Some(soon), false, Some(soon)),
        (soon, Some(late), false, Some(soon)),
        (soon, Some(late), true, Some(late)),
        (soon, None, true, None),
    ] {
        let mut stand = Stand::new(1);
        let now = stand.now;
        let mut row = unkeyed(1);
        let expires_at = |wait: Duration| Timestamp(wait.as_micros() as i64 - EPOCH_US);
        row.terms.expires_at = expires.map(expires_at);
        let settlement = Settlement::GivenBack { run_at: None, pause: wait, is_blocked };
        let mut gathered = Gathered::default();
        gathered.settle(read_one(row), settlement, now);
        stand.dispatcher.hands.fetch.set_due(now + Duration::from_secs(9));
        stand.dispatcher.note_waiting_from_now(&gathered);
        let fetch_at = stand.dispatcher.hands.fetch.wake_at().map(|at| at - now);
        let expected = expected.unwrap_or(Duration::from_secs(9));
        assert_eq!(fetch_at, Some(expected), "{wait:?} {expires:?} {is_blocked}");
    }
}

/// A look meanwhile has passed it over, because it was in hand, and forgotten that something is due.
#[test]
fn what_was_put_down_as_it_was_is_looked_for_at_once() {
    let mut stand = Stand::new(1);
    stand.fetch_claimed(vec![unkeyed(1)]);
    let delivery = stand.attempted().remove(0);
    stand.dispatcher.endpoints.landed(&delivery);
    stand.dispatcher.give_back(delivery);
    let recorded = stand.flush().expect("it is put down");
    assert!(recorded.results.is_empty(), "nothing is written");
    stand.dispatcher.endpoints.forget_deferred(ENDPOINT);
    stand.dispatcher.hands.fetch.set_due(stand.now + Duration::from_secs(9));
    stand.record(recorded);
    stand.pass(IDLE_FETCH_PAUSE);
    assert!(stand.has_asked(|query| matches!(query, Query::FetchDue { .. })));
}

/// Nobody waits for more of it.
#[test]
fn the_last_results_of_a_stop_are_recorded_at_once() {
    let mut stand = Stand::new(9);
    stand.send((1..3).map(|number| sent(unkeyed(number), &[TARGET])).collect());
    let mut attempted = stand.attempted();
    let now = stand.now;
    stand.dispatcher.stop(now);
    stand.land(attempted.remove(0), Outcome::Accepted);
    assert!(stand.flush_now().is_none(), "something is in flight");
    stand.land(attempted.remove(0), Outcome::Accepted);
    let recorded = stand.flush_now().expect("that was the last one");
    assert_eq!(recorded.results.done.len(), 2);
}
