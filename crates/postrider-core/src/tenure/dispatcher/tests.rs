//! What a driver may rely on, whatever it tells the dispatcher.

pub mod stand;

use self::stand::{Stand, renewed};
use super::*;
use crate::tenure::tests::{TARGET, sent, unkeyed};

fn failure() -> Failure {
    Failure::new("the connection was lost", false)
}

/// Whoever swallowed one would wait for an answer for ever.
#[test]
fn whatever_fails_ends_the_tenure() {
    let counting = |stand: &mut Stand| {
        let now = stand.now;
        stand.dispatcher.account.begin_count(vec![Shard(0)], None, now)
    };
    let events: [fn(&mut Stand) -> Event; 4] = [
        |_| Event::Ticked(Err(failure())),
        |_| Event::Due(Vec::new(), 0, Err(failure())),
        |_| Event::DueClaimed(Vec::new(), Err(failure())),
        |_| Event::Late(Vec::new()),
    ];
    let plain = [
        Event::Waiting(Err(failure())),
        Event::Expired(Err(failure())),
        Event::Followers(Vec::new(), Err(failure())),
        Event::Claimed(Err(failure())),
        Event::Flushed(Err(failure())),
        Event::Acquired(Err(failure())),
        Event::Recovered(Vec::new(), Err(failure())),
        Event::Released(Vec::new(), Err(failure())),
        Event::Endpoints(Err(failure())),
        Event::Settings(Err(failure())),
        Event::Retired(EndpointId(1), Err(failure())),
        Event::Circuits(Err(failure())),
        Event::Told(Vec::new(), Err(failure())),
        Event::Tokens(Err(failure())),
        Event::Traded(Vec::new(), Err(failure())),
        Event::Doorbell(Err(failure())),
        Event::Maintained(Err(failure())),
    ];
    let mut stand = Stand::new(1);
    let counting = Event::Counted(counting(&mut stand), Err(failure()));
    let mut all: Vec<Event> = plain.into_iter().chain([counting]).collect();
    all.extend(events.iter().map(|event| event(&mut stand)));
    for (number, event) in all.into_iter().enumerate() {
        let mut stand = Stand::new(1);
        let now = stand.now;
        stand.dispatcher.take(event, now);
        assert!(matches!(stand.dispatcher.take_failure(), Some(End::Failed(_))), "{number}");
    }
}

#[test]
fn a_driver_that_fails_says_so_once() {
    let mut stand = Stand::new(1);
    stand.dispatcher.fail(failure());
    assert!(matches!(stand.dispatcher.take_failure(), Some(End::Failed(_))));
    assert!(stand.dispatcher.take_failure().is_none());
}

/// Wakes it when it wants to, and answers whatever it asks. How often that was, and how often for nothing.
fn idle(stand: &mut Stand, time: Duration) -> (usize, usize) {
    let (began, until) = (stand.now, stand.now + time);
    let (mut wakes, mut idle) = (0, 0);
    loop {
        let at = stand.dispatcher.wake_at();
        if at > until {
            return (wakes, idle);
        }
        assert!(at > stand.now, "it wakes at once, again and again");
        stand.now = at;
        wakes += 1;
        let mut is_idle = true;
        // An answer leads to the next question.
        for _ in 0..8 {
            stand.step();
            for command in std::mem::take(&mut stand.commands) {
                is_idle = false;
                match command {
                    Command::Beat(_) => {
                        stand.dispatcher.take_news(renewed(began, stand.now, &[]), stand.now);
                    }
                    Command::Ask(Query::Tick(groups)) => {
                        stand.commands.push(Command::Ask(Query::Tick(groups)));
                        stand.read(Vec::new());
                    }
                    Command::Ask(query) => stand.answer(query),
                    _ => {}
                }
            }
        }
        idle += usize::from(is_idle);
    }
}

/// An idle dispatcher costs what it says it does: a look now and then, and a heartbeat.
#[test]
fn whoever_has_nothing_to_do_is_woken_for_something_and_seldom() {
    let mut stand = Stand::new(1);
    stand.read(Vec::new());
    idle(&mut stand, Duration::from_secs(10));
    let seconds = 120;
    let (wakes, idle) = idle(&mut stand, Duration::from_secs(seconds));
    let looks = seconds as usize * 20;
    assert!(wakes < looks * 3 / 2, "{wakes} wakes for {looks} looks");
    assert!(idle * 50 < wakes, "{idle} of {wakes} wakes were for nothing");
}

/// It would not be recorded before the grace is over.
#[test]
fn whoever_stops_begins_nothing_new_and_ends_what_was_begun() {
    let mut stand = Stand::new(1);
    stand.send((1..4).map(|number| sent(unkeyed(number), &[TARGET])).collect());
    let delivery = stand.attempted().remove(0);
    let now = stand.now;
    stand.dispatcher.stop(now);
    stand.pass(Duration::from_millis(900));
    stand.commands.clear();
    stand.step();
    for command in &stand.commands {
        let is_an_end = matches!(
            command,
            Command::Beat(_)
                | Command::Ask(
                    Query::Flush { .. } | Query::SaveCheckpoint { .. } | Query::UnlockDoorbell
                )
        );
        assert!(is_an_end, "it begins something");
    }
    assert!(!stand.commands.is_empty());
    let given_back = stand.flush_now().expect("what was queued waits in the table");
    assert_eq!(given_back.results.deferred.len(), 2);
    stand.record(given_back);
    let now = stand.now;
    assert!(!stand.dispatcher.is_finished(now), "one is in flight");
    stand.land(delivery, Outcome::Accepted);
    let recorded = stand.flush_now().expect("that was the last one");
    stand.record(recorded);
    stand.checkpoint(Vec::new(), Cancels::default());
    assert_eq!((stand.dispatcher.in_flight(), stand.dispatcher.recorder.is_done()), (0, true));
}
