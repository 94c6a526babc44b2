use super::{
    super::tests::stand::{claimed, dispatcher, own, queries, switch},
    *,
};
use crate::{
    snapshot::Xid,
    tenure::tests::{ENDPOINT, TARGET, sent, unkeyed},
    tick::{WindowBounds, Written},
};

/// The owner of the only shard, and what it asks of a database.
struct Bench {
    dispatcher: Dispatcher,
    now: Instant,
    log: Vec<LogMessage>,
    /// The next transaction.
    xmax: Xid,
    /// A tick that takes the lag in finds too much.
    is_large: bool,
    /// What the newest checkpoint says to be finished.
    done_xmin: Xid,
    /// What was written to the table of what waits.
    aside: Vec<MessageId>,
    /// So many numbers were left out behind those of the log.
    left_out: i64,
}

impl Bench {
    /// Its only endpoint takes nothing.
    fn new(is_large: bool) -> Bench {
        let now = Instant::now();
        let mut dispatcher = dispatcher(now);
        switch(&mut dispatcher, 1, false, now);
        own(&mut dispatcher, now);
        let (log, aside) = (Vec::new(), Vec::new());
        Bench { dispatcher, now, log, xmax: 10, is_large, done_xmin: 0, aside, left_out: 0 }
    }

    fn send(&mut self) {
        let number = self.log.len() as i64 + 1;
        self.log.push(LogMessage { xid: self.xmax, ..sent(unkeyed(number), &[TARGET]) });
        self.xmax += 1;
    }

    fn ids(&self) -> Vec<MessageId> {
        self.log.iter().map(|row| row.id).collect()
    }

    fn go_on(&mut self, time: Duration) {
        self.pass(time);
        assert!(self.dispatcher.take_failure().is_none());
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.now += Duration::from_secs(1);
            let now = self.now;
            // An answer leads to the next question.
            for _ in 0..8 {
                let asked: Vec<Query> = queries(self.dispatcher.step(now)).collect();
                for query in asked {
                    if let Some(event) = self.answer(query) {
                        self.dispatcher.take(event, now);
                    }
                }
            }
        }
    }

    /// What is of no matter here gets no answer.
    fn answer(&mut self, query: Query) -> Option<Event> {
        self.xmax += 1;
        match query {
            Query::Tick(groups) => {
                let top = Snapshot::new(self.xmax, self.xmax, Vec::new()).unwrap();
                let answers = groups.into_iter().map(|group| self.tick(group, &top)).collect();
                Some(Event::Ticked(Ok((answers, true))))
            }
            Query::ReadPage(page) => {
                let is_of_page = |row: &LogMessage| page.after < row.id.0 && row.id.0 <= page.upto;
                let mut rows = self.between(&page.base, &page.top, &[page.lane]);
                rows.retain(is_of_page);
                rows.truncate(page.limit);
                Some(Event::Paged(page, Ok((rows, Vec::new()))))
            }
            Query::SaveCheckpoint { checkpoint, .. } => {
                self.done_xmin = checkpoint.done_xmin;
                Some(Event::Claimed(Ok((Vec::new(), Cancels::default()))))
            }
            Query::Flush { recorded, .. } => {
                self.aside.extend(recorded.results.deferred.iter().map(|row| row.id));
                let (held, lost) = (Gathered::default(), Vec::new());
                let flushed = Flushed { recorded: *recorded, held, lost };
                Some(Event::Flushed(Ok(Box::new(flushed))))
            }
            Query::LockDoorbell(_) | Query::UnlockDoorbell => Some(Event::Doorbell(Ok(false))),
            _ => None,
        }
    }

    fn tick(&self, group: TickGroup, top: &Snapshot) -> GroupTick {
        let written = Written { upto: 0, flushed: 0, has_standbys: false, number: 0 };
        let last_number = self.log.len() as i64 + self.left_out;
        let (top, rows) = (top.clone(), self.between(&group.base, top, &group.lanes));
        if self.is_large && group.is_merging {
            let bounds = WindowBounds { after: 0, end: last_number << 10 | 1023 };
            return (group, Tick::TooMany { top, written }, Some(bounds));
        }
        (group, Tick::Rows { top, rows, last_number, written }, None)
    }

    fn between(&self, base: &Snapshot, top: &Snapshot, lanes: &[Lane]) -> Vec<LogMessage> {
        let is_between = |row: &&LogMessage| {
            lanes.contains(&row.id.lane()) && top.sees(row.xid) && !base.sees(row.xid)
        };
        self.log.iter().filter(is_between).cloned().collect()
    }
}

/// The lag would stay where the first of it was left, and whoever takes the shard over would look through all that
/// was sent since.
#[test]
fn what_was_left_in_the_log_for_too_long_is_set_aside_whether_a_lag_walks_or_not() {
    for is_large in [false, true] {
        let mut bench = Bench::new(is_large);
        let short = Duration::from_secs(10);
        bench.go_on(short);
        let first = bench.xmax;
        bench.send();
        bench.send();
        bench.go_on(PARKED_PATIENCE - short);
        assert_eq!(bench.aside, [], "a pause of some minutes costs no write");
        assert!(bench.done_xmin <= first, "{} {first}", bench.done_xmin);

        bench.go_on(2 * short);
        assert_eq!(bench.aside, bench.ids(), "{is_large}");
        assert!(bench.done_xmin > first + 1, "{} {first}", bench.done_xmin);

        // What comes later waits for as long.
        bench.send();
        bench.go_on(PARKED_PATIENCE - short);
        assert_eq!(bench.aside.len(), 2, "{is_large}");
        bench.go_on(2 * short);
        assert_eq!(bench.aside, bench.ids(), "{is_large}");
    }
}

/// A dispatcher that lived through a restore has left them out, beside one that came before it.
#[test]
fn a_tenure_that_does_not_know_which_numbers_were_left_out_ends() {
    for has_looked in [true, false] {
        let mut bench = Bench::new(false);
        bench.send();
        if has_looked {
            bench.go_on(Duration::from_secs(2));
            bench.left_out = 1 << 20;
            bench.go_on(Duration::from_secs(2));
        }
        bench.left_out = 1 << 38;
        bench.pass(Duration::from_secs(2));
        let end = format!("{:?}", bench.dispatcher.take_failure());
        assert!(end.contains("numbers were left out"), "{end}");
    }
}

/// Nothing else happened, and whoever else needed room waited for the next tick.
#[test]
fn what_fills_the_memory_and_is_not_answered_is_set_aside_without_any_news() {
    let began = Instant::now();
    let mut dispatcher = dispatcher(began);
    switch(&mut dispatcher, 1, true, began);
    own(&mut dispatcher, began);
    let answer = DueAnswer { rows: (1..=40).map(unkeyed).collect(), next: Vec::new() };
    dispatcher.take(Event::Due(vec![(ENDPOINT, 50)], 0, Ok(answer)), began);
    let claim = queries(dispatcher.step(began)).find_map(claimed).expect("they are claimed");
    dispatcher.take(claim, began);
    dispatcher.step(began);
    assert!(dispatcher.endpoints.is_crowded());

    let mut now = began;
    while dispatcher.endpoints.buffered() > 0 {
        let wake_at = dispatcher.wake_at();
        assert!(wake_at > now, "it would look again and again for what is not there");
        now = wake_at;
        dispatcher.step(now);
    }
    assert!(now <= began + Duration::from_millis(600), "{:?}", now - began);
    // There is nothing to be set aside any more.
    assert!(!dispatcher.is_room_short());
}
