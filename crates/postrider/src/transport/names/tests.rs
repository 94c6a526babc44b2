use std::sync::atomic::Ordering;

use tokio::task::JoinSet;
use xtask::hostile::names::{Answers, NameServer};

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
    let names = Names::new(vec![server.address]);
    for name in ["good.example.", "other.example."] {
        assert_eq!(names.look_up("good.example.").await.unwrap(), [Ipv4Addr::LOCALHOST]);
        let mut look_up = Box::pin(names.look_up(name));
        assert!(futures_util::FutureExt::now_or_never(&mut look_up).is_none());
        drop(look_up);
        assert_eq!(names.look_up(name).await.unwrap(), [Ipv4Addr::LOCALHOST]);
    }
}

#[tokio::test]
async fn names_are_remembered_within_bounds() {
    let names = Names::new(vec![]);
    names.note("good", Known::Resolved);
    for number in 0..KNOWN_MAX + 10 {
        names.note(&format!("made-up-{number}"), Known::Failed { at: Instant::now() });
    }
    assert!(lock(&names.known).len() <= KNOWN_MAX);
    assert!(matches!(names.known("good"), Some(Known::Resolved)));
}
