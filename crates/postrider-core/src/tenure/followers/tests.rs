use super::*;
use crate::tenure::{
    Delivery, Settlement,
    tests::{ENDPOINT, waiting},
};

const MS: Duration = Duration::from_millis(1);

fn key(name: &str) -> Arc<str> {
    Arc::from(name)
}

fn known(_: &str) -> Asking {
    Asking::At(1)
}

/// A fetch of these keys, which is under way.
fn fetching(names: &[&str], now: Instant) -> (Followers, Vec<Asked>) {
    let mut followers = Followers::new(now);
    names.iter().for_each(|name| followers.want(key(name), ENDPOINT));
    let asked = followers.begin(|_, _| Room::Some, known, now).expect("they are asked for");
    (followers, asked)
}

/// What was put down, and whether it has ended.
fn recorded(number: i64, has_ended: bool, now: Instant) -> Gathered {
    let settlement = match has_ended {
        true => Settlement::Delivered,
        false => Settlement::GivenBack { run_at: None, pause: Duration::ZERO, is_blocked: false },
    };
    let mut gathered = Gathered::default();
    gathered.settle(Delivery::due(waiting(number), 1), settlement, now);
    gathered
}

#[test]
fn one_fetch_is_under_way_and_what_is_wanted_meanwhile_is_fetched_by_the_next() {
    let now = Instant::now();
    let mut followers = Followers::new(now);
    assert_eq!(followers.wake_at(), None, "nothing is wanted");
    followers.want(key("a"), ENDPOINT);
    assert_eq!(followers.wake_at(), Some(now));
    let asked = followers.begin(|_, _| Room::Some, known, now).unwrap();
    followers.forget(&key("a"), ENDPOINT);
    followers.want(key("b"), ENDPOINT);
    assert!(followers.is_fetching() && followers.wake_at().is_none());
    assert!(followers.begin(|_, _| Room::Some, known, now + MS * 1_000).is_none());
    followers.end(&asked, now);
    assert_eq!(followers.wake_at(), Some(now));
    let asked = followers.begin(|_, _| Room::Some, known, now).unwrap();
    assert_eq!(asked, [(key("b"), ENDPOINT, 1)]);
    followers.end(&asked, now);
    followers.pause(MS * 5, now);
    assert!(followers.begin(|_, _| Room::Some, known, now + MS * 4).is_none());
    assert!(followers.begin(|_, _| Room::Some, known, now + MS * 5).is_some());
    followers.clear();
    followers.end(&asked, now);
    assert_eq!(followers.wake_at(), None);
}

/// The answer may show it as it was before, and it would be attempted twice, or overtaken.
#[test]
fn what_was_recorded_while_a_fetch_was_under_way_is_known_when_it_is_answered() {
    let now = Instant::now();
    let place = |number| (waiting(number).id, waiting(number).target);
    let mut followers = Followers::new(now);
    followers.note_recorded(&recorded(1, true, now));
    assert!(!followers.has_ended(place(1)), "no answer can be older");
    followers.want(key("a"), ENDPOINT);
    let asked = followers.begin(|_, _| Room::Some, known, now).unwrap();
    followers.note_recorded(&recorded(2, true, now));
    followers.note_recorded(&recorded(3, false, now));
    followers.end(&asked, now);
    let states = [1, 2, 3]
        .map(|number| (followers.has_ended(place(number)), followers.is_returned(place(number))));
    assert_eq!(states, [(false, false), (true, false), (false, true)]);
    // The next answer shows all that.
    followers.begin(|_, _| Room::Some, known, now).unwrap();
    assert!(!followers.has_ended(place(2)) && !followers.is_returned(place(3)));
}

#[test]
fn keys_wait_for_a_record_for_a_moment_and_for_room_a_little_longer() {
    let now = Instant::now();
    let busy: fn(&str) -> Asking = |_| Asking::NotNow;
    for (room, asking, pause) in
        [(Room::Some, busy, RECORD_PAUSE), (Room::None, known, NO_ROOM_PAUSE)]
    {
        let mut followers = Followers::new(now);
        followers.want(key("a"), ENDPOINT);
        assert!(followers.begin(|_, _| room, asking, now).is_none());
        assert!(!followers.is_fetching());
        assert_eq!(followers.wake_at(), Some(now + pause), "{room:?}");
    }
}

/// Most of them are over by the next look, and each is asked about in the table.
#[test]
fn keys_are_asked_for_now_and_then_at_an_endpoint_that_is_gone() {
    let now = Instant::now();
    let mut followers = Followers::new(now);
    let at = |followers: &mut Followers, room, at| {
        followers.want(key("a"), ENDPOINT);
        let asked = followers.begin(|_, _| room, known, at)?;
        followers.end(&asked, at);
        Some(asked.len())
    };
    // That somebody has room says nothing of those that are gone.
    assert_eq!(at(&mut followers, Room::Some, now), Some(1));
    assert_eq!(at(&mut followers, Room::Gone, now), Some(1));
    assert_eq!(at(&mut followers, Room::Gone, now + GONE_PAUSE - NO_ROOM_PAUSE), None);
    assert_eq!(at(&mut followers, Room::Gone, now + GONE_PAUSE), Some(1));
    assert_eq!(at(&mut followers, Room::Gone, now + GONE_PAUSE + NO_ROOM_PAUSE), None);
}

#[test]
fn all_who_ring_before_the_next_look_are_heeded_together() {
    let now = Instant::now();
    let mut followers = Followers::new(now);
    assert!(followers.take_marks(10, now).is_none() && followers.wake_at().is_none());
    followers.note_mark(7);
    assert_eq!(followers.wake_at(), Some(now));
    assert_eq!(followers.take_marks(1_000, now), Some(HashSet::from_iter([7])));
    followers.note_mark(8);
    followers.note_mark(9);
    let later = now + PAUSE_PER_KEY * 1_000;
    assert_eq!(followers.wake_at(), Some(later));
    assert!(followers.take_marks(1_000, later - MS).is_none());
    assert_eq!(followers.take_marks(1_000, later), Some(HashSet::from_iter([8, 9])));
    assert!(followers.take_marks(1_000, later + MS * 1_000).is_none());
    // However many keys there are, no more marks are kept than that.
    for mark in 0..MOST_MARKS as u32 - 1 {
        followers.note_mark(mark);
    }
    assert!(followers.take_marks(1_000, later).is_none());
    followers.note_mark(u32::MAX);
    assert_eq!(followers.take_marks(1_000, later).map(|marks| marks.len()), Some(MOST_MARKS));
}

/// An answer that is older than a ring is not the last word: it is given up, or the ring is heeded behind it.
#[test]
fn nobody_rings_for_nothing() {
    for seed in 0..200 {
        let mut dice = fastrand::Rng::with_seed(seed);
        let now = Instant::now();
        let mut followers = Followers::new(now);
        let names = ["a", "b", "c"];
        let mut asked: Option<Vec<Asked>> = None;
        // Keys that somebody rang for, and nobody has looked at since: neither a look nor an answer is newer.
        let mut unheeded: HashSet<&str> = HashSet::default();
        let mut rung_meanwhile: HashSet<&str> = HashSet::default();
        for _ in 0..60 {
            match dice.u8(..4) {
                0 | 1 => {
                    let name = names[dice.usize(..names.len())];
                    followers.note_mark(mark(name));
                    unheeded.insert(name);
                    rung_meanwhile.insert(name);
                }
                2 => {
                    let marks = followers.take_marks(0, now).unwrap_or_default();
                    unheeded.retain(|name| !marks.contains(&mark(name)));
                    if asked.is_none() {
                        followers.want(key("a"), ENDPOINT);
                        followers.want(key("b"), ENDPOINT);
                        asked = followers.begin(|_, _| Room::Some, known, now);
                        rung_meanwhile.clear();
                    }
                }
                _ => {
                    let Some(asked) = asked.take() else { continue };
                    let told = followers.end(&asked, now);
                    for (name, ..) in &asked {
                        let is_old = rung_meanwhile.contains(&**name);
                        let is_given_up = told.contains(&mark(name));
                        let is_heeded_later = followers.marks.contains(&mark(name));
                        assert!(!is_old || is_given_up || is_heeded_later, "seed {seed}");
                        assert!(!is_given_up || is_old, "seed {seed}: nobody rang");
                    }
                }
            }
            let waiting = |name: &&str| followers.marks.contains(&mark(name));
            assert!(unheeded.iter().all(waiting), "seed {seed}: a ring is lost");
        }
    }
}

/// Anybody may ring, at any rate: whoever did so all the time would keep a key from going on.
#[test]
fn whoever_rings_all_the_time_holds_up_a_key_for_a_few_answers() {
    let now = Instant::now();
    let (mut followers, asked) = fetching(&["a"], now);
    let mut answers = |is_rung: bool| {
        if is_rung {
            followers.note_mark(mark("a"));
            followers.note_mark(mark("another"));
        }
        // They are heeded at once, by what is known: the answer may be older.
        followers.take_marks(0, now);
        let told = followers.end(&asked, now);
        assert!(!told.contains(&mark("another")), "it was not asked for");
        let is_heeded_later = followers.take_marks(0, now).is_some();
        assert_eq!(is_heeded_later, is_rung && told.is_empty(), "nobody rings for nothing");
        followers.begin(|_, _| Room::Some, known, now).expect("it is asked for again");
        !told.is_empty()
    };
    for _ in 0..3 {
        let given_up = (0..=HEEDED_IN_A_ROW).map(|_| answers(true)).filter(|is| *is).count();
        assert_eq!(given_up, HEEDED_IN_A_ROW as usize, "then one is taken");
    }
    assert!((0..HEEDED_IN_A_ROW).all(|_| answers(true)));
    assert!(!answers(false));
    assert!((0..HEEDED_IN_A_ROW).all(|_| answers(true)), "they were not in a row");
}
