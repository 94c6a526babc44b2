use std::ops::ControlFlow::{Break, Continue};

use super::{
    super::tests::stand::{Stand, claimed, claimed_as},
    *,
};
use crate::tenure::tests::{ENDPOINT, TARGET, unkeyed, waiting};

fn is_fetch(query: &Query) -> bool {
    matches!(query, Query::FetchDue { .. })
}

/// The numbers of what is claimed, and when it is looked whether somebody holds it.
fn claims(stand: &mut Stand) -> Option<(Vec<i64>, Look)> {
    stand.asked(|query| match query {
        Query::Claim { claims, look, .. } => {
            Break((claims.iter().map(|claim| claim.id.sequence_number()).collect(), look))
        }
        query => Continue(query),
    })
}

fn lost(number: i64, recovery_count: u32) -> DueDelivery {
    DueDelivery { recovery_count, ..unkeyed(number) }
}

// What is due ---------------------------------------------------------------------------------------

#[test]
fn what_is_due_is_asked_for_once_and_again_when_that_is_answered() {
    let mut stand = Stand::new(1);
    let at = stand.dispatcher.clock.timestamp(stand.now);
    stand.dispatcher.note_deferred(ENDPOINT, at);
    stand.pass(IDLE_FETCH_PAUSE);
    assert!(stand.has_asked(is_fetch));
    stand.pass(Duration::from_secs(9));
    assert!(!stand.has_asked(is_fetch), "it is under way");
    stand.fetch(Vec::new());
    stand.dispatcher.note_deferred(ENDPOINT, at);
    assert!(!stand.has_asked(is_fetch), "all there was is known");
    stand.pass(IDLE_FETCH_PAUSE);
    assert!(stand.has_asked(is_fetch));
}

#[test]
fn nothing_is_fetched_for_whoever_owns_nothing_or_gives_it_up() {
    for is_drained in [true, false] {
        let mut stand = Stand::new(1);
        let at = stand.dispatcher.clock.timestamp(stand.now);
        stand.dispatcher.note_deferred(ENDPOINT, at);
        match is_drained {
            true => stand.dispatcher.drain(Shard(0)),
            false => stand.dispatcher.lose(&[Owned { shard: Shard(0), epoch: 1 }]),
        }
        stand.pass(IDLE_FETCH_PAUSE);
        assert!(!stand.has_asked(is_fetch), "{is_drained}");
    }
}

/// Each step would look at all endpoints that have something waiting.
#[test]
fn what_is_due_without_room_is_looked_for_now_and_then_and_when_a_pause_is_over() {
    let pause = Duration::from_secs(60);
    for (is_left_alone, expected) in [(true, pause - IDLE_FETCH_PAUSE), (false, ROOM_PAUSE)] {
        let mut stand = Stand::new(1);
        match is_left_alone {
            true => stand.dispatcher.endpoints.ask_for_pause(ENDPOINT, pause, stand.now),
            // So many in hand are held up by somebody's transaction.
            false => {
                (0..5_000).for_each(|_| stand.dispatcher.endpoints.note_in_hand(ENDPOINT));
            }
        }
        let at = stand.dispatcher.clock.timestamp(stand.now);
        stand.dispatcher.note_deferred(ENDPOINT, at);
        stand.pass(IDLE_FETCH_PAUSE);
        assert!(!stand.has_asked(is_fetch), "{is_left_alone}");
        let wake_at = stand.dispatcher.hands.fetch.wake_at().map(|at| at - stand.now);
        assert_eq!(wake_at, Some(expected), "{is_left_alone}");
    }
}

#[test]
fn what_is_in_hand_or_was_recorded_meanwhile_is_not_taken_again() {
    let mut stand = Stand::new(9);
    stand.fetch_claimed(vec![unkeyed(1)]);
    stand.dispatcher.hands.fetch.start();
    stand.dispatcher.hands.note_recorded((unkeyed(2).id, TARGET));
    stand.fetch(vec![unkeyed(1), unkeyed(2), unkeyed(3)]);
    assert_eq!(claims(&mut stand), Some((vec![3], Look::After)));
    assert_eq!(stand.dispatcher.hands.count(), 2);
}

/// What is forgotten is not looked for before somebody says that it is there.
#[test]
fn that_nothing_more_is_due_is_believed_of_an_answer_that_is_whole_and_not_out_of_date() {
    for (most, is_current, is_complete, is_forgotten) in [
        (2, true, true, true),
        (1, true, true, false),
        (2, false, true, false),
        (2, true, false, false),
    ] {
        let mut stand = Stand::new(9);
        let at = stand.dispatcher.clock.timestamp(stand.now);
        stand.dispatcher.note_deferred(ENDPOINT, at);
        let deferrals = stand.dispatcher.recorder.deferrals();
        if !is_current {
            stand.dispatcher.recorder.note_deferral();
        }
        let row = match is_complete {
            true => unkeyed(1),
            // One that is behind another of its key, as far as is known.
            false => {
                let first = Delivery::due(waiting(1), 1).link().unwrap();
                stand.dispatcher.chains.store(&first);
                DueDelivery { recovery_count: SUSPECT_AFTER, ..waiting(2) }
            }
        };
        let answer = DueAnswer { rows: vec![row], next: Vec::new() };
        stand.take(Event::Due(vec![(ENDPOINT, most)], deferrals, Ok(answer)));
        let is_known = stand.dispatcher.endpoints.waiting_count() == 1;
        assert_eq!(is_known, !is_forgotten, "{most} {is_current} {is_complete}");
    }
}

#[test]
fn when_the_next_is_due_is_what_the_answer_says() {
    let mut stand = Stand::new(9);
    let second = Duration::from_secs(1);
    let at = stand.dispatcher.clock.timestamp(stand.now + second);
    stand.dispatcher.hands.fetch.set_due(stand.now + second * 3);
    let answer = DueAnswer { rows: Vec::new(), next: vec![(ENDPOINT, at)] };
    stand.take(Event::Due(vec![(ENDPOINT, 5)], stand.dispatcher.recorder.deferrals(), Ok(answer)));
    assert_eq!(stand.dispatcher.hands.fetch.wake_at(), Some(stand.now + second));
}

/// It ends wherever it is in its chain: what is before it may wait for longer.
#[test]
fn what_has_expired_is_claimed_and_ends_whatever_is_before_it() {
    let mut stand = Stand::new(9);
    let first = Delivery::due(waiting(1), 1).link().unwrap();
    stand.dispatcher.chains.store(&first);
    let mut expired = waiting(2);
    expired.terms.expires_at = Some(Timestamp(stand.dispatcher.clock.timestamp(stand.now).0));
    stand.fetch_claimed(vec![expired, waiting(3)]);
    assert!(stand.attempted().is_empty());
    assert_eq!(stand.recorded().expired, [(waiting(2).id, TARGET, ENDPOINT)]);
    assert!(!stand.dispatcher.hands.has((waiting(3).id, TARGET)), "that one is behind");
}

// Suspects ------------------------------------------------------------------------------------------

/// If one of them kills its dispatcher, the others get away.
#[test]
fn what_was_in_hand_whenever_a_dispatcher_died_goes_alone() {
    let mut stand = Stand::new(9);
    stand.fetch(vec![lost(1, 3), lost(2, 2), lost(3, 1), lost(4, 2)]);
    assert_eq!(claims(&mut stand), Some((vec![3], Look::After)), "that one is not suspected");
    assert_eq!(claims(&mut stand), Some((vec![2], Look::BeforeAndAfter)));
    assert_eq!(claims(&mut stand), None, "one at a time");
    assert_eq!(stand.dispatcher.hands.count(), 4, "none of them is fetched again");
    stand.dispatcher.forget_in_hand((unkeyed(2).id, TARGET));
    assert_eq!(claims(&mut stand), Some((vec![4], Look::BeforeAndAfter)));
    stand.dispatcher.forget_in_hand((unkeyed(4).id, TARGET));
    assert_eq!(claims(&mut stand), Some((vec![1], Look::BeforeAndAfter)));
}

// Claims --------------------------------------------------------------------------------------------

/// What the database says of one that is claimed.
struct Said {
    cancels: Cancels,
    waits: Option<StillWaiting>,
    is_unclaimed: bool,
}

const WAITS: StillWaiting =
    StillWaiting { has_expired: false, is_held: false, retry_count: 0, expires_at: None };

fn said(waits: Option<StillWaiting>) -> Said {
    Said { cancels: Cancels::default(), waits, is_unclaimed: false }
}

/// What becomes of a delivery of which that is said.
fn becomes(row: DueDelivery, said: Said, prepare: impl Fn(&mut Stand)) -> &'static str {
    let mut stand = Stand::new(9);
    stand.fetch(vec![row]);
    let claimed = stand.asked(|query| match query {
        Query::Claim { claimed, .. } => Break(claimed),
        query => Continue(query),
    });
    let claimed = claimed.expect("it is claimed");
    let place = claimed[0].place();
    prepare(&mut stand);
    let answer = DueClaimAnswer {
        lost: Vec::new(),
        cancels: said.cancels,
        still_waiting: said.waits.into_iter().map(|waits| (place, waits)).collect(),
        unclaimed: said.is_unclaimed.then_some(place).into_iter().collect(),
    };
    stand.take(Event::DueClaimed(claimed, Ok(answer)));
    let (is_in_hand, postponed) =
        (stand.dispatcher.hands.has(place), stand.dispatcher.hands.postponed_count());
    let attempted = stand.attempted();
    // Whatever is not on its way has given its place back.
    assert_eq!(stand.dispatcher.endpoints.buffered(), 0);
    assert_eq!(stand.dispatcher.in_flight(), attempted.len() as i64);
    let recorded = stand.flush();
    let results = recorded.map(|recorded| recorded.results).unwrap_or_default();
    match (attempted.len(), is_in_hand, postponed) {
        (1, true, 0) => {
            assert_eq!(
                attempted[0].claimed_at,
                Some(stand.now - stand.dispatcher.pace.flush_interval)
            );
            "goes"
        }
        (0, true, 1) => "claimed again later",
        (0, true, 0) if !results.expired.is_empty() => "expired",
        (0, true, 0) if !results.read.is_empty() => "cancelled",
        (0, true, 0) if !results.deferred.is_empty() => "waits",
        (0, false, 0) if stand.dispatcher.endpoints.waiting_count() > 0 => "fetched again",
        (0, false, 0) => "over",
        found => panic!("{found:?}"),
    }
}

#[test]
fn a_claim_shows_what_became_of_it_since_it_was_fetched() {
    let row = || unkeyed(1);
    let place = (row().id, TARGET);
    let committed =
        || Cancels { committed: Arc::new(HashSet::from_iter([place])), ..Cancels::default() };
    let under_way = || Cancels { under_way: HashSet::from_iter([place.0]), ..Cancels::default() };
    let held = StillWaiting { is_held: true, ..WAITS };
    let later = StillWaiting { expires_at: Some(Timestamp(i64::MAX)), ..WAITS };
    for (name, said, expected) in [
        ("it waits as it did", said(Some(WAITS)), "goes"),
        (
            "it has expired since",
            said(Some(StillWaiting { has_expired: true, ..WAITS })),
            "expired",
        ),
        ("its row is gone", said(None), "over"),
        ("somebody holds it", said(Some(held)), "claimed again later"),
        (
            "it was held, and not claimed",
            Said { is_unclaimed: true, ..said(None) },
            "claimed again later",
        ),
        ("it is cancelled", Said { cancels: committed(), ..said(Some(WAITS)) }, "cancelled"),
        (
            "it is cancelled and held",
            Said { cancels: committed(), ..said(Some(held)) },
            "cancelled",
        ),
        (
            "somebody may cancel it",
            Said { cancels: under_way(), ..said(Some(WAITS)) },
            "claimed again later",
        ),
        (
            "it was brought back",
            said(Some(StillWaiting { retry_count: 7, ..WAITS })),
            "fetched again",
        ),
        ("it has another end", said(Some(later)), "fetched again"),
    ] {
        assert_eq!(becomes(row(), said, |_| {}), expected, "{name}");
    }
    let stop = |stand: &mut Stand| stand.dispatcher.stop(stand.now);
    let drain = |stand: &mut Stand| stand.dispatcher.drain(Shard(0));
    let lose = |stand: &mut Stand| stand.dispatcher.lose(&[Owned { shard: Shard(0), epoch: 1 }]);
    assert_eq!(becomes(row(), said(Some(WAITS)), stop), "fetched again");
    assert_eq!(becomes(row(), said(Some(WAITS)), drain), "fetched again");
    assert_eq!(becomes(row(), said(Some(WAITS)), lose), "fetched again");
}

/// It is its turn, and not its time: its row has to say when that is.
#[test]
fn what_is_scheduled_for_later_waits_until_then() {
    let mut row = unkeyed(1);
    row.terms.scheduled_at = Some(Timestamp(0));
    assert_eq!(becomes(row, said(Some(WAITS)), |_| {}), "waits");
}

/// Nothing was claimed, so nobody knows of an attempt.
#[test]
fn nothing_goes_of_a_claim_that_finds_a_shard_lost() {
    let mut stand = Stand::new(9);
    stand.fetch(vec![unkeyed(1), unkeyed(2)]);
    let claim = stand.asked(|query| match query {
        query @ Query::Claim { .. } => Break(claimed(query)),
        query => Continue(query),
    });
    let Some(Event::DueClaimed(claimed, Ok(answer))) = claim.flatten() else {
        panic!("it is claimed")
    };
    let lost = vec![Owned { shard: Shard(1), epoch: 1 }];
    stand.take(Event::DueClaimed(claimed, Ok(DueClaimAnswer { lost, ..answer })));
    assert!(stand.attempted().is_empty());
    assert_eq!((stand.dispatcher.endpoints.buffered(), stand.dispatcher.hands.count()), (0, 0));
    stand.pass(IDLE_FETCH_PAUSE);
    assert!(stand.has_asked(is_fetch), "they are due");
}

/// The chain would wait for one that is over.
#[test]
fn what_is_behind_one_that_was_ended_by_others_goes_on() {
    let mut stand = Stand::new(9);
    let link = Delivery::due(waiting(1), 1).link().unwrap();
    stand.dispatcher.chains.inherit(&link);
    stand.fetch(vec![waiting(1)]);
    let claimed = stand.asked(|query| match query {
        Query::Claim { claimed, .. } => Break(claimed),
        query => Continue(query),
    });
    stand.take(Event::DueClaimed(claimed.unwrap(), Ok(DueClaimAnswer::default())));
    let asks = stand.has_asked(|query| matches!(query, Query::FetchFollowers(..)));
    assert!(asks, "for what is stored behind it");
    assert_eq!(stand.dispatcher.hands.count(), 0);
}

/// The next suspect may be tried: should we die of it, the one that is held is in nobody's hands.
#[test]
fn a_suspect_that_somebody_holds_lets_the_next_one_be_tried() {
    let mut stand = Stand::new(9);
    stand.fetch(vec![lost(1, 2), lost(2, 3)]);
    let claimed = stand.asked(|query| match query {
        Query::Claim { claimed, .. } => Break(claimed),
        query => Continue(query),
    });
    let claimed = claimed.expect("the first is claimed");
    let unclaimed = HashSet::from_iter([claimed[0].place()]);
    let answer = DueClaimAnswer { unclaimed, ..DueClaimAnswer::default() };
    stand.take(Event::DueClaimed(claimed, Ok(answer)));
    assert_eq!(claims(&mut stand), Some((vec![2], Look::BeforeAndAfter)));
}

/// A clock said that it has expired, and says so no more.
#[test]
fn a_suspect_that_was_to_expire_and_does_not_waits_for_its_turn() {
    let mut stand = Stand::new(9);
    let now = stand.dispatcher.clock.timestamp(stand.now);
    let mut row = lost(1, SUSPECT_AFTER);
    row.terms.expires_at = Some(Timestamp(now.0 + 1));
    let suspect = Delivery::due(row.clone(), 1);
    let seated = stand.dispatcher.hold_seated(suspect);
    let query = Query::Claim {
        claimed: vec![seated],
        owned: Vec::new(),
        claims: Vec::new(),
        look: Look::After,
    };
    let answer = claimed_as(query, |_| (0, row.terms.expires_at)).expect("it is claimed");
    stand.take(answer);
    assert!(stand.attempted().is_empty());
    assert_eq!((stand.dispatcher.endpoints.buffered(), stand.dispatcher.hands.count()), (0, 0));
}
