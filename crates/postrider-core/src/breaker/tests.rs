//! The state machine by a table, and random histories of several dispatchers against one row.

use proptest::prelude::*;

use super::*;

const RULES: Rules = Rules { threshold: 3, cooldown: Duration::from_secs(30) };
const LIMIT: usize = 64;

fn at(ms: i64) -> Moment {
    Moment(ms * 1000)
}

/// The row that all share.
#[derive(Clone, Copy)]
struct Row(Circuit);

impl Row {
    fn save(&mut self, breaker: &mut Breaker, proposed: Circuit, now: Moment) -> bool {
        let is_current = breaker.circuit().version == self.0.version;
        if is_current {
            // Whether a prober lives is no column: it is asked anew by whoever reads.
            let state = match (self.0.state, proposed.state) {
                (State::HalfOpen { prober: one, .. }, State::HalfOpen { prober: other, .. })
                    if one == other =>
                {
                    self.0.state
                }
                (_, state) => state,
            };
            self.0 = Circuit { state, ..proposed };
            breaker.saved(now);
        } else {
            breaker.refused(self.0, now);
        }
        is_current
    }

    /// Tells all that is to be told at that time.
    fn tell(&mut self, breaker: &mut Breaker, now: Moment) {
        while breaker.tell_at(now, RULES).is_some_and(|at| at <= now) {
            let proposed = breaker.propose(now, RULES);
            self.save(breaker, proposed, now);
        }
    }
}

#[test]
fn it_opens_after_so_many_failures_in_a_row_and_not_before() {
    let mut row = Row(Circuit::default());
    let mut breaker = Breaker::default();
    for (ms, is_accepted, permit) in [
        (1, false, Permit::All),
        (2, false, Permit::All),
        (3, true, Permit::All),
        (4, false, Permit::All),
        (5, false, Permit::All),
        (6, false, Permit::None),
    ] {
        breaker.note(is_accepted, at(ms), LIMIT);
        assert_eq!(breaker.permit(at(ms), RULES), permit, "at {ms}");
    }
    row.tell(&mut breaker, at(6));
    assert_eq!(row.0.state, State::Open { probe_at: at(30_006) });
    assert_eq!(row.0.failing_since, Some(at(4)));
    assert_eq!(breaker.permit(at(30_005), RULES), Permit::None);
    assert_eq!(breaker.permit(at(30_006), RULES), Permit::Probe);
}

#[test]
fn a_threshold_that_is_lowered_below_the_count_stops_nothing_before_the_next_failure() {
    let mut row = Row(Circuit { failure_count: 5, ..Circuit::default() });
    let mut breaker = Breaker::new(row.0);
    assert_eq!(breaker.permit(at(1), RULES), Permit::All);
    breaker.note(false, at(2), LIMIT);
    assert_eq!(breaker.permit(at(2), RULES), Permit::None);
    row.tell(&mut breaker, at(2));
    assert_eq!(row.0.state, State::Open { probe_at: at(30_002) });
}

#[test]
fn failures_of_two_dispatchers_add_up_and_count_once() {
    let mut row = Row(Circuit::default());
    let (mut one, mut other) = (Breaker::default(), Breaker::default());
    one.note(false, at(1), LIMIT);
    other.note(false, at(1), LIMIT);
    row.tell(&mut one, at(2));
    row.tell(&mut other, at(3));
    assert_eq!((row.0.state, row.0.failure_count), (State::Closed, 2));
    one.note(false, at(4), LIMIT);
    // It has not heard of the other's, so it tells soon, but not at once.
    assert_eq!(one.tell_at(at(4), RULES), Some(at(502)));
    row.tell(&mut one, at(502));
    assert_eq!(row.0.failure_count, 3);
    assert!(matches!(row.0.state, State::Open { .. }));
    assert_eq!(other.permit(at(502), RULES), Permit::All, "it has not heard yet");
    other.learn(row.0);
    assert_eq!(other.permit(at(502), RULES), Permit::None);
}

#[test]
fn a_success_of_one_resets_the_failures_of_another() {
    let mut row = Row(Circuit::default());
    let (mut one, mut other) = (Breaker::default(), Breaker::default());
    one.note(false, at(1), LIMIT);
    one.note(false, at(2), LIMIT);
    row.tell(&mut one, at(2));
    other.note(true, at(3), LIMIT);
    row.tell(&mut other, at(3));
    assert_eq!((row.0.failure_count, row.0.failing_since), (0, None));
    assert_eq!(row.0.last_success_at, Some(at(3)));
}

#[test]
fn a_probe_decides_and_recovery_is_gradual() {
    let mut row = Row(Circuit { state: State::Open { probe_at: at(0) }, ..Circuit::default() });
    let (mut one, mut other) = (Breaker::new(row.0), Breaker::new(row.0));
    let proposed = one.propose_probe(at(1), 1, RULES);
    assert!(row.save(&mut one, proposed, at(1)));
    let proposed = other.propose_probe(at(1), 2, RULES);
    assert!(!row.save(&mut other, proposed, at(1)), "there is one probe");
    assert_eq!(other.permit(at(99_999), RULES), Permit::None);
    one.note_probe(true, at(2), 1, LIMIT);
    row.tell(&mut one, at(2));
    assert_eq!((row.0.state, row.0.failure_count), (State::Closed, 0));
    let mut limits = Vec::new();
    for ms in 3..70 {
        if let Permit::Some(limit) = one.permit(at(ms), RULES)
            && limits.last() != Some(&limit)
        {
            limits.push(limit);
        }
        one.note(true, at(ms), LIMIT);
    }
    assert_eq!(limits, [1, 2, 4, 8, 16, 32]);
    assert_eq!(one.permit(at(70), RULES), Permit::All);
    other.learn(row.0);
    for (is_accepted, limit) in [(true, 2), (true, 2), (true, 4), (false, 2), (false, 1)] {
        other.note(is_accepted, at(71), LIMIT);
        assert_eq!(other.permit(at(71), RULES), Permit::Some(limit));
    }
}

#[test]
fn a_probe_that_fails_opens_again_with_a_fresh_cooldown() {
    let mut row = Row(Circuit { state: State::Open { probe_at: at(0) }, ..Circuit::default() });
    let mut breaker = Breaker::new(row.0);
    let proposed = breaker.propose_probe(at(1), 1, RULES);
    row.save(&mut breaker, proposed, at(1));
    breaker.note_probe(false, at(500), 1, LIMIT);
    row.tell(&mut breaker, at(501));
    assert_eq!(row.0.state, State::Open { probe_at: at(30_501) });
}

#[test]
fn a_probe_that_was_not_sent_leaves_it_to_another() {
    let mut row = Row(Circuit { state: State::Open { probe_at: at(0) }, ..Circuit::default() });
    let mut breaker = Breaker::new(row.0);
    let proposed = breaker.propose_probe(at(1), 1, RULES);
    row.save(&mut breaker, proposed, at(1));
    breaker.abandon_probe(1);
    row.tell(&mut breaker, at(2));
    assert_eq!(row.0.state, State::Open { probe_at: at(2) });
}

#[test]
fn who_is_dead_does_not_keep_others_from_probing() {
    let half_open = |is_prober_alive| Circuit {
        state: State::HalfOpen { prober: 1, is_prober_alive },
        ..Circuit::default()
    };
    assert_eq!(Breaker::new(half_open(true)).permit(at(9), RULES), Permit::None);
    assert_eq!(Breaker::new(half_open(false)).permit(at(9), RULES), Permit::Probe);
}

#[test]
fn a_reset_makes_an_answer_of_a_probe_an_ordinary_one() {
    let mut row = Row(Circuit { state: State::Open { probe_at: at(0) }, ..Circuit::default() });
    let mut breaker = Breaker::new(row.0);
    let proposed = breaker.propose_probe(at(1), 1, RULES);
    row.save(&mut breaker, proposed, at(1));
    row.0 = Circuit { version: row.0.version + 1, ..Circuit::default() };
    breaker.learn(row.0);
    breaker.note_probe(false, at(3), 1, LIMIT);
    row.tell(&mut breaker, at(600));
    assert_eq!((row.0.state, row.0.failure_count), (State::Closed, 1));
}

#[test]
fn an_endpoint_that_works_or_half_works_is_rarely_written_of() {
    let (mut row, mut breaker) = (Row(Circuit::default()), Breaker::default());
    let mut count = 0;
    for ms in 0..60_000 {
        breaker.note(ms % 2 == 0, at(ms), LIMIT);
        if breaker.tell_at(at(ms), RULES).is_some_and(|due| due <= at(ms)) {
            row.tell(&mut breaker, at(ms));
            count += 1;
        }
    }
    assert!((12..=13).contains(&count), "{count}");
    let (mut row, mut breaker) = (Row(Circuit::default()), Breaker::default());
    for ms in 0..100_000 {
        breaker.note(true, at(ms), LIMIT);
        if breaker.tell_at(at(ms), RULES).is_some_and(|due| due <= at(ms)) {
            row.tell(&mut breaker, at(ms));
        }
    }
    assert_eq!(row.0.last_success_at, Some(at(90_000)), "at once, and then twice a minute");
}

#[test]
fn one_that_is_unavailable_now_and_then_gets_less_at_a_time() {
    let mut breaker = Breaker::default();
    let mut limits = Vec::new();
    for (ms, is_accepted) in (0..200).map(|ms| (ms, ms >= 9 || ms % 2 == 1)) {
        breaker.note(is_accepted, at(ms), LIMIT);
        if !is_accepted {
            breaker.back_off(LIMIT);
        }
        let limit = match breaker.permit(at(ms), RULES) {
            Permit::Some(limit) => limit,
            _ => LIMIT,
        };
        if limits.last() != Some(&limit) {
            limits.push(limit);
        }
    }
    assert_eq!(limits, [32, 16, 8, 4, 8, 16, 32, 64]);
}

#[test]
fn what_is_locked_is_left_for_a_moment() {
    let mut breaker =
        Breaker::new(Circuit { state: State::Open { probe_at: at(0) }, ..Circuit::default() });
    assert_eq!(breaker.permit(at(1), RULES), Permit::Probe);
    breaker.propose_probe(at(1), 1, RULES);
    let current = *breaker.circuit();
    breaker.refused(current, at(2));
    assert_eq!(breaker.permit(at(201), RULES), Permit::None);
    assert_eq!(breaker.probe_at(), Some(at(202)));
    assert_eq!(breaker.permit(at(202), RULES), Permit::Probe);
}

/// What happens in a random history.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A dispatcher sends, if it may.
    Send(usize),
    /// One of its attempts ends.
    Land(usize, bool),
    /// It tells, and somebody else is quicker when the two meet.
    Tell(usize),
    Learn(usize),
    /// It dies; another one takes its place.
    Die(usize),
    Wait(i64),
    Reset,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..3usize).prop_map(Step::Send),
        6 => (0..3usize, prop::bool::weighted(0.3)).prop_map(|(d, ok)| Step::Land(d, ok)),
        4 => (0..3usize).prop_map(Step::Tell),
        3 => (0..3usize).prop_map(Step::Learn),
        1 => (0..3usize).prop_map(Step::Die),
        3 => (1..20_000i64).prop_map(Step::Wait),
        1 => Just(Step::Reset),
    ];
    prop::collection::vec(step, 1..400)
}

struct Node {
    id: Prober,
    breaker: Breaker,
    in_flight: usize,
    is_probing: bool,
}

proptest! {
    /// Never two probes of live dispatchers in one opening; nothing is sent by whoever knows that it
    /// is open; what is open becomes closed by a probe or a reset only; and in the end it closes when
    /// the endpoint works.
    #[test]
    fn random_histories_keep_the_promises(steps in steps()) {
        let mut row = Row(Circuit::default());
        let mut now = 0;
        let mut next_id = 3;
        let mut nodes: Vec<Node> = (0..3)
            .map(|id| Node { id, breaker: Breaker::default(), in_flight: 0, is_probing: false })
            .collect();
        for step in steps {
            now += 1;
            match step {
                Step::Send(n) => {
                    let node = &mut nodes[n];
                    match node.breaker.permit(at(now), RULES) {
                        Permit::None => {}
                        Permit::All => node.in_flight += 1,
                        Permit::Some(limit) if node.in_flight < limit => node.in_flight += 1,
                        Permit::Some(_) => {}
                        Permit::Probe => {
                            let proposed = node.breaker.propose_probe(at(now), node.id, RULES);
                            let before = row.0.state;
                            if row.save(&mut node.breaker, proposed, at(now)) {
                                let is_due = match before {
                                    State::Open { probe_at } => probe_at <= at(now),
                                    State::HalfOpen { is_prober_alive, .. } => !is_prober_alive,
                                    State::Closed => false,
                                };
                                prop_assert!(is_due, "a probe in {before:?}");
                                node.is_probing = true;
                            }
                        }
                    }
                }
                Step::Land(n, is_accepted) => {
                    let node = &mut nodes[n];
                    if node.is_probing {
                        node.is_probing = false;
                        node.breaker.note_probe(is_accepted, at(now), node.id, LIMIT);
                    } else if node.in_flight > 0 {
                        node.in_flight -= 1;
                        node.breaker.note(is_accepted, at(now), LIMIT);
                    }
                }
                Step::Tell(n) => {
                    let before = row.0.state;
                    let node = &mut nodes[n];
                    if node.breaker.tell_at(at(now), RULES).is_some_and(|due| due <= at(now)) {
                        let proposed = node.breaker.propose(at(now), RULES);
                        row.save(&mut node.breaker, proposed, at(now));
                    }
                    if before != State::Closed && row.0.state == State::Closed {
                        let was_ours =
                            matches!(before, State::HalfOpen { prober, .. } if prober == node.id);
                        prop_assert!(was_ours, "{before:?} was closed by somebody else");
                    }
                }
                Step::Learn(n) => nodes[n].breaker.learn(row.0),
                Step::Die(n) => {
                    if let State::HalfOpen { prober, is_prober_alive } = &mut row.0.state
                        && *prober == nodes[n].id
                    {
                        *is_prober_alive = false;
                    }
                    next_id += 1;
                    nodes[n] = Node {
                        id: next_id,
                        breaker: Breaker::new(row.0),
                        in_flight: 0,
                        is_probing: false,
                    };
                }
                Step::Wait(ms) => now += ms,
                Step::Reset => {
                    row.0 = Circuit { version: row.0.version + 1, ..Circuit::default() };
                }
            }
            if let State::HalfOpen { .. } = row.0.state {
                let probing = nodes.iter().filter(|node| {
                    node.is_probing
                        && matches!(row.0.state, State::HalfOpen { prober, .. } if prober == node.id)
                });
                prop_assert!(probing.count() <= 1);
            }
        }
        // The endpoint works from now on, and everybody hears of everything.
        for _ in 0..20 {
            now += 31_000;
            for node in &mut nodes {
                node.breaker.learn(row.0);
                if node.is_probing {
                    node.is_probing = false;
                    node.breaker.note_probe(true, at(now), node.id, LIMIT);
                }
                row.tell(&mut node.breaker, at(now));
                if node.breaker.permit(at(now), RULES) == Permit::Probe {
                    let proposed = node.breaker.propose_probe(at(now), node.id, RULES);
                    node.is_probing = row.save(&mut node.breaker, proposed, at(now));
                }
            }
        }
        prop_assert_eq!(row.0.state, State::Closed);
    }

    /// One dispatcher that tells at once counts exactly as the definition says.
    #[test]
    fn it_opens_exactly_when_the_last_so_many_have_failed(outcomes in prop::collection::vec(any::<bool>(), 1..60)) {
        let (mut row, mut breaker) = (Row(Circuit::default()), Breaker::default());
        let mut in_a_row = 0;
        for (index, is_accepted) in outcomes.into_iter().enumerate() {
            let now = at(index as i64 * 10);
            breaker.note(is_accepted, now, LIMIT);
            row.tell(&mut breaker, now);
            in_a_row = if is_accepted { 0 } else { in_a_row + 1 };
            prop_assert_eq!(row.0.state == State::Closed, in_a_row < RULES.threshold);
            if in_a_row == RULES.threshold {
                break;
            }
        }
    }
}
