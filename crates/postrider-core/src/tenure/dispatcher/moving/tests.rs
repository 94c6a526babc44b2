use super::{super::tests::stand::Stand, *};
use crate::tenure::tests::{ENDPOINT, FLOW, TARGET, disabled, endpoint, sent, unkeyed, waiting};

/// One that waits in the table and is in hand, with a place at its endpoint.
fn seated(stand: &mut Stand, row: DueDelivery) -> Seated {
    let delivery = Delivery::due(row, 1);
    if let Some(link) = delivery.link() {
        stand.dispatcher.chains.fetch(&link, true);
    }
    stand.dispatcher.hold_seated(delivery)
}

/// What is in memory: queued or ready, and in hand.
fn counts(stand: &Stand) -> (usize, usize) {
    (stand.dispatcher.endpoints.buffered(), stand.dispatcher.hands.count())
}

fn fetches(stand: &mut Stand) -> bool {
    stand.pass(IDLE_FETCH_PAUSE);
    stand.has_asked(|query| matches!(query, Query::FetchDue { .. }))
}

#[test]
fn a_delivery_is_queued_when_it_is_its_turn() {
    let mut stand = Stand::new(9);
    let [first, second, later] = [1, 2, 5].map(|number| seated(&mut stand, waiting(number)));
    let plain = seated(&mut stand, unkeyed(7));
    stand.dispatcher.admit(second);
    assert!(stand.attempted().is_empty(), "it waits for the one before it");
    stand.dispatcher.admit(plain);
    assert_eq!(stand.attempted_numbers(), [7], "without a key it is at once");
    stand.dispatcher.admit(first);
    let first = stand.attempted().remove(0);
    assert_eq!(first.message.id, waiting(1).id);
    // Something of the key has come to the table before it meanwhile.
    let link = waiting_link(4);
    stand.dispatcher.chains.store(&link);
    stand.dispatcher.admit(later);
    let Some(recorded) = stand.flush() else { panic!("it is put down") };
    assert!(recorded.put_down.contains(&(waiting(5).id, TARGET)));
}

fn waiting_link(number: i64) -> Link {
    Delivery::due(waiting(number), 1).link().unwrap()
}

/// The one whose turn it is must not be stored as one that waits for another: nobody would fetch it.
#[test]
fn what_is_given_back_of_an_ordering_key_goes_in_order() {
    let mut stand = Stand::new(1);
    stand.send(vec![sent(unkeyed(9), &[TARGET])]);
    assert_eq!(stand.attempted_numbers(), [9], "nothing else can go");
    stand.send([3, 1, 2].map(|number| sent(waiting(number), &[TARGET])).into());
    stand.dispatcher.return_queued(|delivery| delivery.link().is_some());
    let deferred = stand.recorded().deferred;
    let rows: Vec<(i64, bool)> =
        deferred.iter().map(|row| (row.id.sequence_number(), row.is_blocked)).collect();
    assert_eq!(rows, [(1, false), (2, true), (3, true)]);
    assert_eq!(stand.dispatcher.endpoints.buffered(), 0);
}

#[test]
fn only_what_is_wanted_is_given_back() {
    let mut stand = Stand::new(1);
    stand.send((1..5).map(|number| sent(unkeyed(number), &[TARGET])).collect());
    assert_eq!(stand.attempted_numbers(), [1]);
    stand.dispatcher.return_queued(|delivery| delivery.message.id.sequence_number() == 3);
    let numbers = stand.recorded().deferred.into_iter().map(|row| row.id.sequence_number());
    assert!(numbers.eq([3]));
    assert_eq!(stand.dispatcher.endpoints.buffered(), 2);
}

/// What a dispatcher that died had in hand has used up a retry, and may have used up the last one.
#[test]
fn what_is_taken_in_hand_may_have_no_retry_left() {
    for (recovery_count, retry_count, is_dead) in
        [(0, 99, false), (1, 10, false), (1, 11, true), (2, 11, true)]
    {
        let mut stand = Stand::new(1);
        let row = DueDelivery { recovery_count, retry_count, ..unkeyed(1) };
        let seated = stand.dispatcher.take_in_hand(Delivery::due(row, 1));
        let case = format!("{recovery_count} {retry_count}");
        assert_eq!(seated.is_none(), is_dead, "{case}");
        let causes: Vec<_> = match is_dead {
            true => stand.recorded().dead.iter().map(|dead| dead.cause).collect(),
            false => Vec::new(),
        };
        assert_eq!(causes, if is_dead { vec!["stale"] } else { vec![] }, "{case}");
        assert_eq!(counts(&stand), if is_dead { (0, 0) } else { (1, 1) }, "{case}");
        drop(seated);
    }
}

/// It lies where it was, and is fetched when there is room.
#[test]
fn what_finds_no_room_is_not_in_hand_and_looked_for_again() {
    let mut stand = Stand::new(1);
    stand.dispatcher.endpoints.apply(disabled(endpoint(ENDPOINT, 2, FLOW)));
    assert!(stand.dispatcher.take_in_hand(Delivery::due(unkeyed(1), 1)).is_none());
    assert_eq!(counts(&stand), (0, 0));
    stand.dispatcher.endpoints.apply(endpoint(ENDPOINT, 3, FLOW));
    assert!(fetches(&mut stand));
    assert!(stand.flush().is_none(), "nothing is said of it");
}

#[test]
fn a_place_is_given_up_with_what_had_it() {
    let mut stand = Stand::new(1);
    let seated = seated(&mut stand, unkeyed(1));
    assert_eq!(counts(&stand), (1, 1));
    let delivery = stand.dispatcher.unplace(Placed::Queue(seated));
    assert_eq!(counts(&stand), (0, 1));
    let delivery = stand.dispatcher.unplace(Placed::Held(delivery));
    assert_eq!((counts(&stand), delivery.message.id), ((0, 1), unkeyed(1).id));
}

/// They were in hand, and nobody would fetch them.
#[test]
fn what_is_not_ours_to_attempt_or_to_recover_any_more_is_fetched_when_it_is_due() {
    for is_suspect in [true, false] {
        let mut stand = Stand::new(1);
        for number in [1, 2] {
            let delivery = Delivery::due(DueDelivery { recovery_count: 2, ..unkeyed(number) }, 1);
            match is_suspect {
                true => {
                    stand.dispatcher.hold(&delivery);
                    stand.dispatcher.hands.suspect(delivery);
                }
                false => {
                    let (id, target) = delivery.place();
                    let claim = Claim { id, target, retry_count: 0 };
                    stand.dispatcher.note_unrecovered(vec![claim]);
                }
            }
        }
        let first = unkeyed(1).id;
        match is_suspect {
            true => stand.dispatcher.drop_suspects(|delivery| delivery.message.id == first),
            false => stand.dispatcher.drop_unrecovered(|claim| claim.id == first),
        }
        assert!(!stand.dispatcher.hands.has((first, TARGET)), "{is_suspect}");
        assert!(stand.dispatcher.hands.has((unkeyed(2).id, TARGET)), "{is_suspect}");
        assert!(fetches(&mut stand), "{is_suspect}");
    }
}
