use serde_json::{Value, json};

use super::*;

fn parse(policy: &Value, place: Place) -> Policy {
    let own = OwnPolicy::parse(policy, place).unwrap_or_else(|error| panic!("{policy}: {error}"));
    own.complete(&Simple::default())
}

fn seconds(policy: &Policy) -> Vec<f64> {
    policy.waits().iter().map(Duration::as_secs_f64).collect()
}

/// Cases that SQL has to answer alike.
fn shared_cases() -> Value {
    serde_json::from_str(include_str!("../../../postrider/testdata/retry_policy.json")).unwrap()
}

#[test]
fn shared_policies_have_the_waits_that_they_should() {
    for case in shared_cases()["valid"].as_array().unwrap() {
        let place = match case["place"].as_str().unwrap() {
            "endpoint" => Place::Endpoint,
            "event_type" => Place::EventType,
            "subscription" => Place::Subscription,
            other => unreachable!("{other}"),
        };
        let policy = parse(&case["policy"], place);
        // A number, or a number and how often it comes.
        let expected = case["waits"].as_array().unwrap().iter().flat_map(|wait| {
            let [wait, count] = match wait.as_array() {
                Some(pair) => [&pair[0], &pair[1]].map(|number| number.as_u64().unwrap()),
                None => [wait.as_u64().unwrap(), 1],
            };
            std::iter::repeat_n(Duration::from_millis(wait), count as usize)
        });
        assert_eq!(policy.waits(), expected.collect::<Vec<_>>(), "{case}");
        assert_eq!(policy.jitter(), case["jitter"].as_f64().unwrap(), "{case}");
    }
}

#[test]
fn a_wrong_policy_is_refused_with_the_rule_that_it_breaks() {
    for case in shared_cases()["invalid"].as_array().unwrap() {
        for place in [Place::Endpoint, Place::EventType, Place::Subscription] {
            let error = OwnPolicy::parse(&case["policy"], place).expect_err(&case.to_string());
            assert_eq!(error.to_string(), case["error"], "{case}");
        }
    }
}

#[test]
fn simple_waits_follow_the_published_table() {
    let cases: [(&str, &[f64]); 3] = [
        ("exponential", &[10., 20., 40., 80., 160., 300., 300.]),
        ("linear", &[10., 40., 70., 100., 130., 160., 190., 220., 250., 280., 300.]),
        ("fixed", &[10., 10., 10.]),
    ];
    for (backoff, expected) in cases {
        let policy = json!({ "backoff": backoff, "max_retries": expected.len(), "jitter": 0 });
        assert_eq!(seconds(&parse(&policy, Place::Endpoint)), expected, "{backoff}");
    }
}

#[test]
fn backoff_phases_follow_the_published_vectors() {
    let check = |policy: Value, expected: &[f64]| {
        let mut only_backoff = json!({
            "retries_with_no_delay": 0, "minimum_delay_retries": 0, "maximum_delay_retries": 0
        });
        only_backoff.as_object_mut().unwrap().extend(policy.as_object().unwrap().clone());
        let waits = seconds(&parse(&only_backoff, Place::Subscription));
        // Whole numbers are the floor of the exact value, the others have three places.
        let is_whole = expected.iter().all(|wait| wait.fract() == 0.0);
        let shown: Vec<f64> =
            waits.iter().map(|wait| if is_whole { wait.floor() } else { *wait }).collect();
        assert_eq!(shown, expected, "{policy}");
    };
    let phase = |minimum: u32, maximum: u32, function: &str| {
        json!({
            "minimum_delay": minimum, "maximum_delay": maximum, "retry_backoff_function": function
        })
    };
    let ten = |function: &str| {
        let mut policy = phase(5, 260, function);
        policy["backoff_retries"] = 10.into();
        policy
    };
    check(json!({}), &[5., 10., 15., 20., 25., 30.]);
    check(phase(5, 60, "linear"), &[5., 10., 15., 20., 25., 30., 35., 40., 45., 50., 55., 60.]);
    check(phase(5, 32, "linear"), &[5., 10., 15., 20., 25., 30., 32.]);
    check(phase(10, 60, "exponential"), &[10., 12., 14., 18., 22., 27., 33., 40., 49., 60.]);
    check(
        phase(20, 80, "geometric"),
        &[20., 22., 25., 29., 33., 37., 42., 48., 54., 62., 70., 80.],
    );
    check(
        phase(30, 100, "arithmetic"),
        &[30., 30., 32., 34., 37., 41., 46., 51., 57., 64., 72., 80., 90., 100.],
    );
    check(
        ten("linear"),
        &[5., 33.333, 61.667, 90., 118.333, 146.667, 175., 203.333, 231.667, 260.],
    );
    check(ten("arithmetic"), &[5., 10.667, 22., 39., 61.667, 90., 124., 163.667, 209., 260.]);
    check(
        ten("geometric"),
        &[5., 7.756, 12.031, 18.663, 28.949, 44.906, 69.658, 108.054, 167.612, 260.],
    );
}

#[test]
fn whole_phased_policies_follow_the_published_vectors() {
    let policy = parse(&json!({}), Place::EventType);
    let default = [0., 0., 0., 5., 5., 5., 5., 10., 15., 20., 25., 30., 30., 30., 30.];
    assert_eq!(seconds(&policy), default);
    assert_eq!(seconds(&policy).iter().sum::<f64>(), 210.0);
    let policy = parse(&json!({ "maximum_delay": 60 }), Place::EventType);
    assert_eq!(policy.max_retries(), 21);
    assert_eq!(seconds(&policy).iter().sum::<f64>(), 585.0);
}

#[test]
fn jitter_lengthens_a_wait_by_its_fraction_of_the_dice() {
    let simple = json!({ "backoff": "fixed" });
    let schedule = json!({ "schedule_seconds": [10, 300], "jitter": 0.1 });
    for policy in [simple, schedule] {
        let policy = parse(&policy, Place::Endpoint);
        for (dice, expected) in [(0.0, 10_000), (0.5, 10_500), (0.00005, 10_000), (0.00105, 10_001)]
        {
            assert_eq!(policy.wait(0, dice), Duration::from_millis(expected), "{dice}");
        }
    }
    let phased = parse(&json!({ "minimum_delay": 7 }), Place::Endpoint);
    assert_eq!(phased.wait(3, 1.0), Duration::from_secs(7));
}

#[test]
fn a_huge_retry_count_saturates() {
    for backoff in [Backoff::Exponential, Backoff::Linear] {
        let policy = Simple { jitter: 0.0, backoff, ..Simple::default() };
        assert_eq!(Policy::Simple(policy).wait(u32::MAX, 1.0), Duration::from_secs(300));
    }
    let policy = parse(&json!({ "preset": "standard-webhooks" }), Place::Endpoint);
    assert!(policy.allows_retry(8) && !policy.allows_retry(9));
    assert_eq!(policy.wait(u32::MAX, 0.0), Duration::from_secs(86_400));
}

#[test]
fn what_a_simple_policy_leaves_out_comes_from_the_settings() {
    let settings =
        Simple { max_retries: 3, base_delay: Duration::from_secs(7), ..Simple::default() };
    let own = OwnPolicy::parse(&json!({ "max_delay_seconds": 20 }), Place::EventType).unwrap();
    let waits = [7, 14, 20].map(Duration::from_secs);
    assert_eq!(own.complete(&settings).waits(), waits);
    let own = OwnPolicy::parse(&json!({ "max_retries": 2 }), Place::Endpoint).unwrap();
    assert_eq!(own.complete(&settings).waits(), waits[..2]);
}

#[test]
fn one_policy_applies_as_a_whole() {
    let own = |text: Value| OwnPolicy::parse(&text, Place::EventType).unwrap();
    let event_type = own(json!({}));
    let overriding = own(json!({ "ignore_subscription_override": true }));
    let subscription = own(json!({ "max_retries": 1 }));
    let endpoint = own(json!({ "max_retries": 2 }));
    let (e, o) = (Some(&event_type), Some(&overriding));
    let (s, p) = (Some(&subscription), Some(&endpoint));
    for (event_type, subscription, endpoint, expected) in [
        (o, s, p, (Rule::EventType, o)),
        (o, None, p, (Rule::EventType, o)),
        (e, s, p, (Rule::Subscription, s)),
        (None, s, p, (Rule::Subscription, s)),
        (e, None, p, (Rule::EventType, e)),
        (None, None, p, (Rule::Endpoint, p)),
        (None, None, None, (Rule::Settings, None)),
    ] {
        let chosen = choose(event_type, subscription, endpoint);
        assert_eq!(chosen, expected, "{event_type:?} {subscription:?} {endpoint:?}");
    }
}
