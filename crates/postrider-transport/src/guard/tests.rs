use std::{collections::HashSet, sync::Mutex};

use postrider_testkit::hostile::names::{Answers, NameServer};
use tokio::task::JoinSet;

use super::*;
use crate::{Settings, SharedOptions};

/// The names that a server was asked for.
type Asked = Arc<Mutex<HashSet<String>>>;

/// Notes what it is asked for, says nothing of `dead…`, and of everything else that it is 127.0.0.1.
async fn name_server() -> (NameServer, Asked) {
    let asked = Asked::default();
    let noted = Arc::clone(&asked);
    let answer = move |name: &str| {
        noted.lock().unwrap().insert(name.to_owned());
        match name.starts_with("dead") {
            true => Answers::Silence,
            false => Answers::Addresses(&[[127, 0, 0, 1]]),
        }
    };
    (NameServer::start(answer).await.unwrap(), asked)
}

fn dead_count(asked: &Asked) -> usize {
    asked.lock().unwrap().iter().filter(|name| name.starts_with("dead")).count()
}

/// The guard of one more endpoint.
fn guard(shared: &Arc<Shared>) -> Guard {
    let rule = Rule { allowed: Arc::new(InternalDestinations::On), has_plain_secrets: false };
    let timeout = ConnectTimeout { own: None, shared: Arc::clone(shared) };
    Guard::new(rule, timeout, Arc::default())
}

fn url(name: &str) -> Uri {
    format!("http://{name}.example/").parse().unwrap()
}

/// Whatever was to be asked before has been asked then: there is one server, and it is asked for all of them.
async fn resolve_some(endpoint: &Guard, kind: &str) {
    for number in 0..20 {
        let addresses = endpoint.resolve(&url(&format!("{kind}-{number}"))).await.unwrap();
        assert_eq!(addresses, [SocketAddr::from(([127, 0, 0, 1], 80))]);
    }
}

#[tokio::test]
async fn an_endpoint_has_few_look_ups_under_way_and_another_one_its_own() {
    let (server, asked) = name_server().await;
    let options = SharedOptions { name_servers: vec![server.address], ..SharedOptions::default() };
    let shared = Shared::with_options(Settings::default(), options);
    let (hanging, other) = (guard(&shared), guard(&shared));
    let mut look_ups = JoinSet::new();
    let mut under_way = Vec::new();
    for number in 0..LOOKUPS_MAX + 4 {
        let (mut endpoint, url) = (hanging.clone(), url(&format!("dead-{number}")));
        // Who connects, and who only asks for a proxy, share the limit.
        under_way.push(look_ups.spawn(async move {
            match number % 2 {
                0 => endpoint.resolve(&url).await.is_ok(),
                _ => endpoint.call(url).await.is_ok(),
            }
        }));
    }
    while dead_count(&asked) < LOOKUPS_MAX {
        tokio::task::yield_now().await;
    }
    resolve_some(&other, "good").await;
    assert_eq!(dead_count(&asked), LOOKUPS_MAX);
    assert!(look_ups.try_join_next().is_none(), "they are still under way");

    // Who gives up leaves its place to the next one.
    under_way[0].abort();
    while dead_count(&asked) == LOOKUPS_MAX {
        tokio::task::yield_now().await;
    }
    resolve_some(&other, "better").await;
    assert_eq!(dead_count(&asked), LOOKUPS_MAX + 1);
}
