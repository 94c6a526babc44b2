use super::*;

fn at(ms: i64) -> Moment {
    Moment(ms * 1000)
}

#[test]
fn every_chore_is_done_at_once_and_again_after_its_pause() {
    let mut caretaker = Caretaker::new(at(0));
    let all: Vec<Task> = Chore::ALL.map(Task::Chore).into_iter().chain([Task::Tick]).collect();
    assert_eq!(caretaker.step(at(0)), all);
    assert_eq!(caretaker.step(at(99_999_999)), [], "one of a kind at a time");
    assert_eq!(caretaker.wake_at(), None);
    for chore in Chore::ALL {
        caretaker.end(chore, None, at(10));
    }
    caretaker.end_tick(None, at(10));
    assert_eq!(caretaker.wake_at(), Some(at(1_010)));
    for chore in Chore::ALL {
        let due_at = at(10).after(chore.pause());
        let is_begun = |tasks: Vec<Task>| tasks.contains(&Task::Chore(chore));
        let mut other = Caretaker::new(at(0));
        other.step(at(0));
        other.end(chore, None, at(10));
        assert!(!is_begun(other.step(Moment(due_at.0 - 1))), "{chore:?}");
        assert!(is_begun(other.step(due_at)), "{chore:?}");
    }
}

#[test]
fn a_chore_says_itself_when_it_is_worth_doing_again() {
    let mut caretaker = Caretaker::new(at(0));
    caretaker.step(at(0));
    caretaker.end(Chore::AdvanceJobs, Some(Duration::ZERO), at(5));
    assert_eq!(caretaker.step(at(5)), [Task::Chore(Chore::AdvanceJobs)]);
    caretaker.end(Chore::AdvanceJobs, Some(Duration::from_secs(100)), at(6));
    assert_eq!(caretaker.wake_at(), Some(at(100_006)));
}

#[test]
fn what_is_wished_while_it_is_under_way_is_done_once_more() {
    for (wish, chore, pause) in [
        (Wish::Job, Chore::AdvanceJobs, 0),
        (Wish::Limits, Chore::JudgeLimits, 0),
        (Wish::Orphans, Chore::Forget, 1_000),
    ] {
        let mut caretaker = Caretaker::new(at(0));
        caretaker.step(at(0));
        caretaker.heed(wish, at(20));
        assert_eq!(caretaker.wake_at(), None, "{wish:?}");
        caretaker.end(chore, Some(Duration::from_secs(3_600)), at(30));
        // Whoever wishes all the time does not get it all the time.
        caretaker.heed(wish, at(31));
        let due_at = at((20 + pause).max(130));
        assert_eq!(caretaker.wake_at(), Some(due_at), "{wish:?}");
        assert_eq!(caretaker.step(due_at), [Task::Chore(chore)], "{wish:?}");
        caretaker.end(chore, Some(Duration::from_secs(3_600)), at(2_000));
        caretaker.heed(wish, at(3_000));
        assert_eq!(caretaker.wake_at(), Some(at(3_000 + pause)), "{wish:?}");
        caretaker.heed(wish, at(9_000));
        assert_eq!(caretaker.wake_at(), Some(at(3_000 + pause)), "no later for it: {wish:?}");
    }
}

const INTERVAL: Duration = Duration::from_millis(20);
const MADE: Option<MadeTick> = Some(MadeTick { is_made: true, interval: INTERVAL });
const NOT_MADE: Option<MadeTick> = Some(MadeTick { is_made: false, interval: INTERVAL });

/// A schedule that knows of consumers, and when it was told so.
fn with_consumers() -> (ConsumerTicks, Moment) {
    let now = Moment(7);
    let mut ticks = ConsumerTicks::new(now);
    assert!(ticks.start(now));
    ticks.take(NOT_MADE, now);
    (ticks, now)
}

#[test]
fn news_make_a_tick_as_soon_as_the_interval_allows() {
    let (mut ticks, now) = with_consumers();
    ticks.note_news(now);
    assert_eq!(ticks.due_at(), Some(now.after(INTERVAL)));
    assert!(!ticks.start(now));
    let later = now.after(Duration::from_millis(300));
    assert!(ticks.start(later));
    assert_eq!(ticks.due_at(), None);
    ticks.take(MADE, later);
    assert_eq!(ticks.due_at(), Some(later.after(IDLE_PAUSE)));
}

#[test]
fn news_during_a_tick_make_another() {
    let (mut ticks, now) = with_consumers();
    let later = now.after(IDLE_PAUSE);
    assert!(ticks.start(later));
    ticks.note_news(later);
    ticks.take(MADE, later);
    assert_eq!(ticks.due_at(), Some(later.after(INTERVAL)));
}

#[test]
fn a_tick_that_was_not_made_for_news_is_tried_once_more() {
    let (mut ticks, now) = with_consumers();
    ticks.note_news(now);
    let at = now.after(INTERVAL);
    assert!(ticks.start(at));
    ticks.take(NOT_MADE, at);
    assert_eq!(ticks.due_at(), Some(at.after(INTERVAL)));
    assert!(ticks.start(at.after(INTERVAL)));
    ticks.take(NOT_MADE, at.after(INTERVAL));
    assert_eq!(ticks.due_at(), Some(at.after(INTERVAL).after(IDLE_PAUSE)));
}

#[test]
fn without_consumers_news_change_nothing() {
    let now = Moment(7);
    let mut ticks = ConsumerTicks::new(now);
    assert!(ticks.start(now));
    ticks.take(None, now);
    ticks.note_news(now);
    assert_eq!(ticks.due_at(), Some(now.after(NOBODY_PAUSE)));
    ticks.look(now);
    let soon = now.after(WISH_PAUSE);
    assert_eq!(ticks.due_at(), Some(soon), "as soon as it may be wished again");
    let later = soon.after(Duration::from_secs(1));
    ticks.look(later);
    assert_eq!(ticks.due_at(), Some(soon), "no later for it");
    assert!(ticks.start(later));
    ticks.take(None, later);
    let quiet = later.after(WISH_PAUSE);
    ticks.look(quiet);
    assert_eq!(ticks.due_at(), Some(quiet));
}
