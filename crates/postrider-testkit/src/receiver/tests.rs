//! Every behaviour, seen by a real client.

use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;

use super::*;

const LONG: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(50);

type HttpClient = Client<HttpConnector, Full<Bytes>>;

fn client() -> HttpClient {
    Client::builder(TokioExecutor::new()).build_http()
}

fn post(receiver: &Receiver, id: i64, body: &str) -> HttpRequest<Full<Bytes>> {
    HttpRequest::post(format!("{}hooks?x=1", receiver.url()))
        .header("webhook-id", format!("msg_{id}"))
        .header("postrider-attempt", "3")
        .body(Full::from(body.to_owned()))
        .unwrap()
}

async fn status(client: &HttpClient, receiver: &Receiver, id: i64) -> u16 {
    client.request(post(receiver, id, "{}")).await.unwrap().status().as_u16()
}

#[tokio::test]
async fn every_request_is_recorded() {
    let keep = Keep { body: true, headers: true };
    let receiver = Receiver::start_with(Behaviour::Status(202), keep).unwrap();
    let client = client();
    let before = Instant::now();
    assert_eq!(client.request(post(&receiver, 7, r#"{"n":1}"#)).await.unwrap().status(), 202);
    client.request(post(&receiver, 7, "again")).await.unwrap();
    let odd = HttpRequest::post(receiver.url()).header("webhook-id", "evt_1");
    client.request(odd.body(Full::default()).unwrap()).await.unwrap();

    let requests = receiver.requests();
    assert_eq!(requests.len(), 3);
    let first = &requests[0];
    assert_eq!((first.id, first.attempt, first.status), (Some(MessageId(7)), 3, Some(202)));
    assert_eq!((first.path.as_str(), &first.body[..]), ("/hooks?x=1", &br#"{"n":1}"#[..]));
    assert_eq!(first.headers["webhook-id"], "msg_7");
    assert!(first.at >= before && first.is_accepted());
    assert_eq!((requests[2].id, requests[2].attempt), (None, 0));
    assert_eq!(receiver.distinct_ids(), HashSet::from([MessageId(7)]));
    assert_eq!(receiver.body_of(MessageId(7)).unwrap(), r#"{"n":1}"#);
    assert_eq!(receiver.body_of(MessageId(8)), None);
    assert_eq!((receiver.request_count(), receiver.accepted_count()), (3, 1));
    assert_eq!((receiver.connection_count(), receiver.in_flight_peak()), (1, 1));
    receiver.clear();
    assert_eq!((receiver.request_count(), receiver.accepted_count()), (0, 0));
}

#[tokio::test]
async fn an_answer_ends_as_it_is_told() {
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let client = client();
    let drips = Ending::Dripping(Duration::from_millis(1));
    for (ending, pieces) in [(Ending::Plain, 1), (Ending::Endless, 1_000), (drips, 10)] {
        let answer = Answer::status(201).ending("piece", ending);
        receiver.set_behaviour(Behaviour::custom(move |_| answer.clone()));
        let mut body = client.request(post(&receiver, 1, "{}")).await.unwrap().into_body();
        let mut read = Vec::new();
        while read.len() < pieces * 5 {
            read.extend(body.frame().await.unwrap().unwrap().into_data().unwrap());
        }
        assert_eq!(body.is_end_stream(), ending == Ending::Plain, "{ending:?}");
        assert!(read.chunks_exact(5).all(|piece| piece == b"piece"), "{ending:?}");
    }
    receiver
        .set_behaviour(Behaviour::custom(|_| Answer { ending: Ending::Cut, ..Answer::default() }));
    client.request(post(&receiver, 2, "{}")).await.unwrap_err();
    assert_eq!(receiver.accepted_count(), 1);
}

#[tokio::test]
async fn http_2_is_spoken_with_those_who_begin_with_it() {
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let client: HttpClient = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    let response = client.request(post(&receiver, 1, "{}")).await.unwrap();
    assert_eq!((response.version(), response.status().as_u16()), (hyper::Version::HTTP_2, 200));
}

#[tokio::test]
async fn a_fraction_fails_as_its_seed_says() {
    let behaviour = Behaviour::Fraction { status: 503, share: 0.33, seed: 42 };
    let client = client();
    let mut runs = Vec::new();
    for _ in 0..2 {
        let receiver = Receiver::start(behaviour.clone()).unwrap();
        let mut failed = Vec::new();
        for id in 0..300 {
            failed.push(status(&client, &receiver, id).await == 503);
        }
        runs.push(failed);
    }
    assert_eq!(runs[0], runs[1]);
    let failed_count = runs[0].iter().filter(|failed| **failed).count();
    assert!((60..140).contains(&failed_count), "{failed_count} of 300");
}

#[tokio::test]
async fn the_first_requests_of_each_message_fail() {
    let receiver = Receiver::start(Behaviour::FirstFail { count: 2, status: 500 }).unwrap();
    let client = client();
    let mut statuses = Vec::new();
    for id in [1, 1, 2, 1, 2, 2] {
        statuses.push(status(&client, &receiver, id).await);
    }
    assert_eq!(statuses, [500, 500, 500, 200, 500, 200]);
    assert_eq!(receiver.accepted_count(), 2);
}

#[tokio::test]
async fn behaviour_changes_while_it_runs() {
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    let client = client();
    assert_eq!(status(&client, &receiver, 1).await, 200);

    receiver.set_behaviour(Behaviour::custom(|arrival| {
        let status = if arrival.body.is_empty() { 400 } else { 429 };
        Answer::status(status).header("retry-after", arrival.attempt)
    }));
    let response = client.request(post(&receiver, 2, "{}")).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"3".parse().unwrap())
    );

    let then = Box::new(Behaviour::Status(204));
    receiver.set_behaviour(Behaviour::Delay { wait: SOON, then });
    let sent_at = Instant::now();
    assert_eq!(status(&client, &receiver, 3).await, 204);
    assert!(sent_at.elapsed() >= SOON);

    receiver.set_behaviour(Behaviour::Hang);
    let hanging = tokio::spawn(client.request(post(&receiver, 4, "{}")));
    receiver.wait_for(4, LONG).await.unwrap();
    assert_eq!(receiver.requests().last().unwrap().status, None);
    let hanging = tokio::time::timeout(SOON, hanging).await;
    assert!(hanging.is_err(), "a hanging receiver must not answer");
}

#[tokio::test]
async fn while_it_is_down_connections_are_refused_and_those_there_are_cut() {
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    let client = client();
    let hanging = tokio::spawn(client.request(post(&receiver, 1, "{}")));
    receiver.wait_for(1, LONG).await.unwrap();

    receiver.down().unwrap();
    assert!(tokio::time::timeout(LONG, hanging).await.unwrap().unwrap().is_err());
    let error = client.request(post(&receiver, 2, "{}")).await.unwrap_err();
    assert!(error.is_connect(), "{error:?}");
    receiver.down().unwrap();

    receiver.set_behaviour(Behaviour::Status(200));
    let url = receiver.url();
    receiver.up().unwrap();
    receiver.up().unwrap();
    assert_eq!(receiver.url(), url);
    assert_eq!(status(&client, &receiver, 2).await, 200);
    assert_eq!(receiver.request_count(), 2);
}

#[tokio::test]
async fn waiting_ends_with_the_last_one_or_with_an_error() {
    let receiver =
        Arc::new(Receiver::start(Behaviour::FirstFail { count: 1, status: 500 }).unwrap());
    let waiting = |accepted: bool| {
        let receiver = Arc::clone(&receiver);
        tokio::spawn(async move {
            match accepted {
                true => receiver.wait_for_accepted(2, LONG).await,
                false => receiver.wait_for(4, LONG).await,
            }
        })
    };
    let (all, accepted) = (waiting(false), waiting(true));
    tokio::task::yield_now().await;
    let client = client();
    for id in [1, 2, 1, 2] {
        status(&client, &receiver, id).await;
    }
    all.await.unwrap().unwrap();
    accepted.await.unwrap().unwrap();
    let error = receiver.wait_for(5, SOON).await.unwrap_err().to_string();
    assert!(error.contains("4 of 5 requests"), "{error}");
}

#[tokio::test]
async fn what_arrived_goes_into_the_ledger() {
    let receiver = Receiver::start(Behaviour::FirstFail { count: 1, status: 500 }).unwrap();
    let client = client();
    let start = Instant::now();
    let mut ledger = Ledger::new(start);
    let destination: ledger::Destination = "shop".into();
    ledger.commit(ledger::Commit {
        destination: Arc::clone(&destination),
        id: Some(MessageId(1)),
        marker: Some("{}".to_owned()),
        order: None,
        at: start,
        is_certain: true,
    });
    let read = |request: &Request| String::from_utf8(request.body.to_vec()).ok();
    status(&client, &receiver, 1).await;
    let mut early = ledger.clone();
    receiver.record_into(&mut early, &destination, read);
    assert_eq!(early.check().lost.len(), 1);

    status(&client, &receiver, 1).await;
    receiver.record_into(&mut ledger, &destination, read);
    let report = ledger.check();
    assert!(report.is_balanced(), "{report}");
    assert_eq!((report.request_count, report.delivered_count), (2, 1));
}

/// Prints the rate; run in release mode with `--no-capture`. The client shares the cores.
#[tokio::test]
async fn many_requests_at_once_are_all_recorded() {
    const COUNT: i64 = 20_000;
    const CONNECTIONS: i64 = 64;
    let keep = Keep { body: true, headers: false };
    let receiver = Arc::new(Receiver::start_with(Behaviour::Status(200), keep).unwrap());
    let client = client();
    let started_at = Instant::now();
    let tasks: Vec<_> = (0..CONNECTIONS)
        .map(|first| {
            let (client, receiver) = (client.clone(), Arc::clone(&receiver));
            tokio::spawn(async move {
                for id in (first..COUNT).step_by(CONNECTIONS as usize) {
                    assert_eq!(status(&client, &receiver, id).await, 200);
                }
            })
        })
        .collect();
    receiver.wait_for_accepted(COUNT as usize, 3 * LONG).await.unwrap();
    let rate = COUNT as f64 / started_at.elapsed().as_secs_f64();
    println!("{rate:.0} requests/s, client included");
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(receiver.request_count(), COUNT as usize);
    assert!(receiver.in_flight_peak() <= CONNECTIONS as usize);
}
