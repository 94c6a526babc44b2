use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

use postrider_testkit::hostile::names::{Answers, NameServer};
use tokio::task::JoinSet;

use super::*;

/// `dead…` has no answer, `none…` does not exist, `two…` has two addresses, and everything else is 127.0.0.1.
pub async fn name_server() -> NameServer {
    let answer = |name: &str| match name {
        name if name.starts_with("dead") => Answers::Silence,
        name if name.starts_with("none") => Answers::Code(3),
        name if name.starts_with("two") => Answers::Addresses(&[[127, 0, 0, 2], [127, 0, 0, 1]]),
        _ => Answers::Addresses(&[[127, 0, 0, 1]]),
    };
    NameServer::start(answer).await.unwrap()
}

/// A server whose names fade: `slow…` is answered late and `quick…` at once, and from one moment on neither is.
/// `lasting…` may be kept. Every address is 127.0.0.1.
pub struct Fading {
    pub server: NameServer,
    is_silent: Arc<AtomicBool>,
    /// Of whom nothing was said.
    unanswered: Arc<Mutex<HashSet<String>>>,
}

impl Fading {
    pub async fn start() -> Self {
        const HERE: &[[u8; 4]] = &[[127, 0, 0, 1]];
        let is_silent = Arc::<AtomicBool>::default();
        let unanswered = Arc::<Mutex<HashSet<String>>>::default();
        let (silent, noted) = (Arc::clone(&is_silent), Arc::clone(&unanswered));
        let answer = move |name: &str| {
            let is_slow = name.starts_with("slow");
            if (is_slow || name.starts_with("quick")) && silent.load(Ordering::SeqCst) {
                lock(&noted).insert(name.to_owned());
                return Answers::Silence;
            }
            match name.starts_with("lasting") {
                true => Answers::Lasting(HERE),
                false if is_slow => Answers::Late(QUICK_MAX + Duration::from_millis(100)),
                false => Answers::Addresses(HERE),
            }
        };
        let server = NameServer::start(answer).await.unwrap();
        Self { server, is_silent, unanswered }
    }

    pub fn fall_silent(&self) {
        self.is_silent.store(true, Ordering::SeqCst);
    }

    /// Waits until it has been silent about so many names of this kind.
    pub async fn wait_for_unanswered(&self, kind: &str, count: usize) {
        let asked = || lock(&self.unanswered).iter().filter(|name| name.starts_with(kind)).count();
        while asked() < count {
            tokio::task::yield_now().await;
        }
    }
}

/// Looks so many names up at a time.
fn look_up_all(names: &Arc<Names>, kind: &'static str, count: usize) -> JoinSet<bool> {
    let look_up = |number: usize| {
        let names = Arc::clone(names);
        async move { names.look_up(&format!("{kind}-{number}.example.")).await.is_ok() }
    };
    (0..count).map(look_up).collect()
}

fn lane(names: &Names, name: &str) -> Lane {
    lane_of(names.last(name).as_ref())
}

#[tokio::test]
async fn good_names_are_resolved_while_hundreds_hang() {
    let server = name_server().await;
    let names = Arc::new(Names::new(vec![server.address]));
    let mut dead = JoinSet::new();
    for number in 0..280 {
        let names = Arc::clone(&names);
        dead.spawn(async move { names.look_up(&format!("dead-{number}.example.")).await });
    }
    while server.question_count.load(Ordering::SeqCst) < 280 {
        tokio::task::yield_now().await;
    }
    for name in ["good.example.", "good.example.", "other_service.example."] {
        assert_eq!(names.look_up(name).await.unwrap(), [Ipv4Addr::LOCALHOST], "{name}");
    }
    assert!(dead.try_join_next().is_none(), "those without an answer are still waited for");
    assert!(names.look_up("none.example.").await.is_err());
}

#[tokio::test]
async fn a_name_that_hangs_is_asked_for_once_and_then_left_alone_for_a_while() {
    let server = name_server().await;
    let names = Arc::new(Names::new(vec![server.address]));
    let mut dead = JoinSet::new();
    for _ in 0..50 {
        let names = Arc::clone(&names);
        dead.spawn(async move { names.look_up("dead.example.").await });
    }
    while server.question_count.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(names.look_up("good.example.").await.unwrap(), [Ipv4Addr::LOCALHOST]);
    // Who gives up has learned as much as who waits for the end.
    tokio::time::sleep(PATIENCE_MIN).await;
    dead.shutdown().await;
    let question_count = server.question_count.load(Ordering::SeqCst);
    assert!(question_count < 10, "fifty asked, once together: {question_count} with repetitions");
    assert!(names.look_up("dead.example.").await.is_err());
    assert_eq!(server.question_count.load(Ordering::SeqCst), question_count);
}

#[tokio::test]
async fn who_gives_up_at_once_has_learned_nothing_of_the_name() {
    let server = name_server().await;
    let names = Arc::new(Names::new(vec![server.address]));
    for name in ["good.example.", "other.example."] {
        assert_eq!(names.look_up("good.example.").await.unwrap(), [Ipv4Addr::LOCALHOST]);
        let mut look_up = Box::pin(names.look_up(name));
        assert!(futures_util::FutureExt::now_or_never(&mut look_up).is_none());
        drop(look_up);
        assert_eq!(names.look_up(name).await.unwrap(), [Ipv4Addr::LOCALHOST]);
    }
}

/// Looks a name up until it counts as quick. A machine that stands still makes a slow one of it.
async fn look_up_quickly(names: &Arc<Names>, name: &str) {
    for _ in 0..20 {
        assert_eq!(names.look_up(name).await.unwrap(), [Ipv4Addr::LOCALHOST], "{name}");
        if lane(names, name) == Lane::Quick {
            return;
        }
    }
    panic!("{name} is never quick");
}

/// More names than the lane of quick ones has places, and fewer than that of slow ones.
pub const MANY: usize = QUICK_LANE + 16;

#[tokio::test]
async fn a_quick_name_is_resolved_while_more_slow_ones_hang_than_there_are_places() {
    let fading = Fading::start().await;
    let names = Arc::new(Names::new(vec![fading.server.address]));
    assert_eq!(lane(&names, "good.example."), Lane::New);
    look_up_quickly(&names, "good.example.").await;
    for number in 0..MANY {
        look_up_quickly(&names, &format!("quick-{number}.example.")).await;
    }
    assert_eq!(look_up_all(&names, "slow", MANY).join_all().await, [true; MANY]);
    fading.fall_silent();

    // Those that were slow have their places among slow ones, and none among quick ones.
    let mut hanging = look_up_all(&names, "slow", MANY);
    fading.wait_for_unanswered("slow", MANY).await;
    assert_eq!(names.lanes.slow.available_permits(), SLOW_LANE - MANY);
    assert_eq!(names.lanes.quick.available_permits(), QUICK_LANE);
    assert_eq!(names.look_up("good.example.").await.unwrap(), [Ipv4Addr::LOCALHOST]);
    assert!(hanging.try_join_next().is_none(), "those without an answer are still waited for");
    hanging.shutdown().await;

    // Those that were quick leave their places to others: more are asked for than there are places.
    look_up_quickly(&names, "good.example.").await;
    let mut hanging = look_up_all(&names, "quick", MANY);
    fading.wait_for_unanswered("quick", MANY).await;
    assert_eq!(names.look_up("good.example.").await.unwrap(), [Ipv4Addr::LOCALHOST]);
    assert!(hanging.try_join_next().is_none(), "those without an answer are still waited for");

    // Who has left is a slow one from now on, also if nobody waits for the end: nobody takes a place again and again.
    while names.lanes.quick.available_permits() < QUICK_LANE {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    hanging.shutdown().await;
    for number in 0..MANY {
        let name = format!("quick-{number}.example.");
        assert_ne!(lane(&names, &name), Lane::Quick, "{name}");
        assert!(names.last(&name).is_some(), "{name}");
    }
}

#[test]
fn a_name_that_was_quick_and_is_not_is_slow_until_it_is_quick_again() {
    let names = Names::new(vec![]);
    names.note_late("unknown");
    assert_eq!(lane(&names, "unknown"), Lane::New);
    for _ in 0..2 {
        names.note("good", resolved(Duration::ZERO, Instant::now()));
        assert_eq!(lane(&names, "good"), Lane::Quick);
        names.note_late("good");
        assert_eq!(lane(&names, "good"), Lane::Slow, "its answer is kept");
    }
}

#[tokio::test]
async fn what_is_kept_waits_for_nobody() {
    let fading = Fading::start().await;
    let names = Arc::new(Names::new(vec![fading.server.address]));
    assert_eq!(names.look_up("lasting.example.").await.unwrap(), [Ipv4Addr::LOCALHOST]);
    assert_eq!(names.look_up("good.example.").await.unwrap(), [Ipv4Addr::LOCALHOST]);
    names.lanes.quick.close();
    names.lanes.slow.close();
    assert_eq!(names.look_up("lasting.example.").await.unwrap(), [Ipv4Addr::LOCALHOST]);
    assert!(names.look_up("good.example.").await.is_err(), "this one may not be kept");
}

#[tokio::test]
async fn a_look_up_lasts_while_one_of_those_who_wait_for_it_does() {
    let fading = Fading::start().await;
    let names = Arc::new(Names::new(vec![fading.server.address]));
    let mut impatient = Box::pin(names.look_up("slow.example."));
    assert!(futures_util::FutureExt::now_or_never(&mut impatient).is_none());
    let mut patient = Box::pin(names.look_up("slow.example."));
    assert!(futures_util::FutureExt::now_or_never(&mut patient).is_none());
    assert_eq!(names.lanes.new.available_permits(), NEW_LANE - 1, "they share a place");
    drop(impatient);
    assert_eq!(patient.await.unwrap(), [Ipv4Addr::LOCALHOST]);
    assert_eq!(lane(&names, "slow.example."), Lane::Slow);
    assert_eq!(names.lanes.new.available_permits(), NEW_LANE);
}

fn resolved(took: Duration, until: Instant) -> Last {
    let answer = Answer { addresses: vec![Ipv4Addr::LOCALHOST.into()], until, files: [None; 2] };
    Last::Resolved { took, answer }
}

#[test]
fn a_name_is_in_the_lane_of_how_its_last_look_up_went() {
    let now = Instant::now();
    let slow = QUICK_MAX + Duration::from_millis(1);
    for (last, lane) in [
        (None, Lane::New),
        (Some(resolved(Duration::ZERO, now)), Lane::Quick),
        (Some(resolved(QUICK_MAX, now)), Lane::Quick),
        (Some(resolved(slow, now)), Lane::Slow),
        (Some(resolved(LOOKUP_TIMEOUT, now)), Lane::Slow),
        (Some(Last::Failed { at: now }), Lane::Failed),
    ] {
        assert_eq!(lane_of(last.as_ref()), lane, "{last:?}");
    }
}

#[test]
fn answers_are_kept_while_they_are_good_and_failures_for_a_while() {
    let (now, moment) = (Instant::now(), Duration::from_millis(1));
    let none = [None; 2];
    let answer = resolved(Duration::ZERO, now + moment);
    assert_eq!(answer.clone().kept(now, none).unwrap().unwrap(), [Ipv4Addr::LOCALHOST]);
    assert!(answer.clone().kept(now + moment, none).is_none());
    assert!(answer.kept(now, [Some(SystemTime::now()), None]).is_none(), "other files");
    let failure = Last::Failed { at: now };
    assert!(failure.clone().kept(now + FAILURE_AGE - moment, none).unwrap().is_err());
    assert!(failure.kept(now + FAILURE_AGE, none).is_none());
}

#[tokio::test]
async fn names_are_remembered_within_bounds() {
    let names = Names::new(vec![]);
    names.note("good", resolved(Duration::ZERO, Instant::now()));
    for number in 0..KNOWN_MAX + 10 {
        names.note(&format!("made-up-{number}"), Last::Failed { at: Instant::now() });
    }
    assert!(lock(&names.known).len() <= KNOWN_MAX);
    assert_eq!(lane(&names, "good"), Lane::Quick);
}
