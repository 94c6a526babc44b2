//! Messages that are sent again and again: when by the clock, each once, and what becomes of what nobody sent in time.

use std::{
    collections::BTreeSet,
    io::Write,
    process::{Command, Stdio},
};

use crate::shop::{Shop, serving::LONG};
use postrider_testkit::{
    receiver::{Behaviour, Receiver},
    verifiers,
};
use serde_json::{Value, json};
use tokio_postgres::Client;

/// Zones that set clocks by an hour, by half an hour, by two hours, at midnight, around Ramadan, and not at all. Those that
/// leave out the end of a day are in the table below: of a day that the expression does not name the library skips it.
const ZONES: [&str; 10] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/St_Johns",
    "America/Santiago",
    "Africa/Casablanca",
    "Antarctica/Troll",
    "America/Havana",
    "UTC",
];

/// The next four times of each of some expressions, in milliseconds since 1970.
const TIMES: &str = "
    with recursive given as (
        select c.place, c.one ->> 'cron' as cron, c.one ->> 'zone' as zone,
            to_timestamp((c.one ->> 'after')::bigint / 1000.0) as after
        from jsonb_array_elements($1) with ordinality c (one, place)
    ), times (place, cron, zone, at, number) as (
        select g.place, g.cron, g.zone, g.after, 0
        from given g
        union all
        select t.place, t.cron, t.zone, postrider.next_cron_firing(t.cron, t.zone, t.at), t.number + 1
        from times t
        where t.number < 4 and t.at is not null
    )
    select jsonb_agg(r.times order by r.place)
    from (
        select t.place, coalesce(
            jsonb_agg((extract(epoch from t.at) * 1000)::bigint order by t.number)
                filter (where t.number > 0 and t.at is not null), '[]') as times
        from times t
        group by t.place
    ) r";

fn by_library(cases: &Value) -> Value {
    let mut command: Command = verifiers::cron().unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(cases.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// When the clocks of a zone are set, by the hour: milliseconds since 1970.
async fn changes(client: &Client, zone: &str) -> Vec<i64> {
    let sql = "select (extract(epoch from h.at) * 1000)::bigint
        from generate_series('2009-01-01'::timestamptz, '2029-01-01', '1 hour') h (at)
        where (h.at at time zone $1) - (h.at at time zone 'UTC')
            <> ((h.at - interval '1 hour') at time zone $1) - ((h.at - interval '1 hour') at time zone 'UTC')";
    let rows = client.query(sql, &[&zone]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

fn value(dice: &mut fastrand::Rng, lowest: u32, highest: u32, names: &[&str]) -> String {
    let value = dice.u32(lowest..=highest);
    match names.get((value - lowest) as usize) {
        Some(name) if dice.u8(..4) == 0 => (*name).to_owned(),
        _ => value.to_string(),
    }
}

fn field(dice: &mut fastrand::Rng, lowest: u32, highest: u32, names: &[&str]) -> String {
    match dice.u8(..10) {
        0..3 => "*".to_owned(),
        3 => format!("*/{}", dice.u32(2..=(highest / 2).max(2))),
        _ => {
            let items = (0..dice.usize(1..=3)).map(|_| {
                if dice.bool() {
                    return value(dice, lowest, highest, names);
                }
                let first = dice.u32(lowest..highest);
                let last = dice.u32(first..=highest);
                match dice.bool() {
                    true => format!("{first}-{last}"),
                    false => format!("{first}-{last}/{}", dice.u32(1..=highest.min(12))),
                }
            });
            items.collect::<Vec<_>>().join(",")
        }
    }
}

fn expression(dice: &mut fastrand::Rng) -> String {
    let months =
        ["JAN", "feb", "Mar", "APR", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let weekdays = ["SUN", "mon", "Tue", "WED", "thu", "fri", "sat"];
    let (minute, hour) = match dice.bool() {
        true => (field(dice, 0, 59, &[]), field(dice, 0, 23, &[])),
        // What clocks leave out or show twice, mostly.
        false => (
            dice.choice(["0", "30", "15,45", "*", "*/10", "5-55/20"]).unwrap().to_owned(),
            dice.choice(["*", "0", "1", "2", "3", "1,2", "0-3", "*/2", "23", "0,23", "2-4/2"])
                .unwrap()
                .to_owned(),
        ),
    };
    let month = if dice.u8(..3) > 0 { "*".to_owned() } else { field(dice, 1, 12, &months) };
    let (day, weekday) = match dice.u8(..6) {
        0 => (dice.choice(["L", "15,L"]).unwrap().to_owned(), "*".to_owned()),
        1 => {
            let special = ["FRI#2", "5#3", "MON#1,THU#4", "5L", "SUN#5", "0L", "7"];
            ("*".to_owned(), (*dice.choice(&special).unwrap()).to_owned())
        }
        2 => loop {
            // The library tells by a field of a single * whether the other one of days decides alone.
            let both = (field(dice, 1, 31, &[]), field(dice, 0, 6, &weekdays));
            if !both.0.contains('*') && !both.1.contains('*') {
                break both;
            }
        },
        3 => ("*".to_owned(), field(dice, 0, 6, &weekdays)),
        _ => (field(dice, 1, 31, &[]), "*".to_owned()),
    };
    format!("{minute} {hour} {day} {month} {weekday}")
}

#[tokio::test(flavor = "multi_thread")]
async fn cron_expressions_fire_when_a_well_known_library_says() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let seed = std::env::var("POSTRIDER_TEST_SEED").ok().and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut cases = Vec::new();
    for zone in ZONES {
        let changes = changes(&client, zone).await;
        for _ in 0..40 {
            let near = dice.choice(&changes).map(|at| at + dice.i64(-1_800..600) * 60_000);
            let after = match near {
                Some(after) if dice.u8(..4) > 0 => after + dice.i64(0..60_000),
                _ => dice.i64(1_230_000_000_000..1_860_000_000_000),
            };
            cases.push(
                json!({ "cron": expression(&mut dice), "zone": zone, "after": after, "count": 4 }),
            );
        }
    }
    let cases = Value::from(cases);
    let theirs = by_library(&cases);
    let ours: Value = client.query_one(TIMES, &[&cases]).await.unwrap().get(0);
    for (place, case) in cases.as_array().unwrap().iter().enumerate() {
        assert_eq!(ours[place], theirs[place], "{case}");
    }
}

/// Expression, zone, after, and the times that follow, in UTC.
const TABLE: &[(&str, &str, &str, &[&str])] = &[
    // Clocks go forward at 01:00 UTC: what they leave out comes then, once for all of it.
    ("30 2 * * *", "Europe/Berlin", "2026-03-28 12:00", &["2026-03-29 01:00", "2026-03-30 00:30"]),
    (
        "0,20,40 2 * * *",
        "Europe/Berlin",
        "2026-03-28 12:00",
        &["2026-03-29 01:00", "2026-03-30 00:00"],
    ),
    ("0 3 * * *", "Europe/Berlin", "2026-03-28 12:00", &["2026-03-29 01:00", "2026-03-30 01:00"]),
    // An interval goes on: nothing for what was left out.
    (
        "*/30 2 * * *",
        "Europe/Berlin",
        "2026-03-28 12:00",
        &["2026-03-30 00:00", "2026-03-30 00:30"],
    ),
    ("30 * * * *", "Europe/Berlin", "2026-03-29 00:00", &["2026-03-29 00:30", "2026-03-29 01:30"]),
    // They go back at 01:00 UTC: the first of two, and an interval in both.
    ("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", &["2026-10-25 00:30", "2026-10-26 01:30"]),
    ("30 2 * * *", "Europe/Berlin", "2026-10-25 00:45", &["2026-10-26 01:30"]),
    (
        "*/30 2 * * *",
        "Europe/Berlin",
        "2026-10-25 00:10",
        &["2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30", "2026-10-26 01:00"],
    ),
    (
        "15 2 * * *",
        "Australia/Lord_Howe",
        "2026-10-03 00:00",
        &["2026-10-03 15:30", "2026-10-04 15:15"],
    ),
    // Until 2011 at a minute past midnight, by an hour: the half hour before it comes again.
    (
        "*/30 23 * * *",
        "America/St_Johns",
        "2010-11-06 18:00",
        &["2010-11-07 01:30", "2010-11-07 02:00", "2010-11-07 03:00", "2010-11-08 02:30"],
    ),
    (
        "*/30 * 7 11 *",
        "America/St_Johns",
        "2010-11-06 18:00",
        &["2010-11-07 02:30", "2010-11-07 03:30", "2010-11-07 04:00"],
    ),
    // The last hour of a day is left out, and the first.
    ("30 23 * * *", "America/Nuuk", "2026-03-28 12:00", &["2026-03-29 01:00", "2026-03-30 00:30"]),
    ("0 0 * * *", "America/Havana", "2026-03-07 12:00", &["2026-03-08 05:00", "2026-03-09 04:00"]),
    // The 30th of December 2011 never was: it comes when it would have begun, as the 31st does.
    ("0 12 30 12 *", "Pacific/Apia", "2011-12-01 00:00", &["2011-12-30 10:00", "2012-12-29 22:00"]),
    (
        "0 0 * * *",
        "Pacific/Apia",
        "2011-12-29 09:00",
        &["2011-12-29 10:00", "2011-12-30 10:00", "2011-12-31 10:00"],
    ),
    (
        "0 9 * * MON-FRI",
        "Asia/Kathmandu",
        "2026-11-26 12:00",
        &["2026-11-27 03:15", "2026-11-30 03:15"],
    ),
    // Days: either of two that are given; the last; the second; with a * in one, both.
    (
        "0 0 13 * FRI",
        "UTC",
        "2026-11-01 00:00",
        &["2026-11-06 00:00", "2026-11-13 00:00", "2026-11-20 00:00"],
    ),
    ("0 0 */13 * FRI", "UTC", "2026-08-01 00:00", &["2026-08-14 00:00", "2026-11-27 00:00"]),
    ("0 0 29 2 *", "UTC", "2096-03-01 00:00", &["2104-02-29 00:00"]),
    ("0 0 L 2 *", "UTC", "2026-11-26 00:00", &["2027-02-28 00:00", "2028-02-29 00:00"]),
    (
        "0 0 * * fri-sun",
        "UTC",
        "2026-11-26 00:00",
        &["2026-11-27 00:00", "2026-11-28 00:00", "2026-11-29 00:00", "2026-12-04 00:00"],
    ),
    ("@hourly", "UTC", "2026-11-26 10:00", &["2026-11-26 11:00"]),
    ("@weekly", "UTC", "2026-11-26 10:00", &["2026-11-29 00:00"]),
    (" 5  4 * * 7 ", "UTC", "2026-11-26 10:00", &["2026-11-29 04:05"]),
];

#[tokio::test(flavor = "multi_thread")]
async fn cron_expressions_fire_as_the_pages_say() {
    let shop = Shop::open_migrated().await;
    let client = shop.client().await;
    let sql = "select to_char(n.at at time zone 'UTC', 'YYYY-MM-DD HH24:MI')
        from (select postrider.next_cron_firing($1, $2, ($3 || '+00')::timestamptz) as at) n";
    for (cron, zone, after, times) in TABLE {
        let mut after = (*after).to_owned();
        for expected in *times {
            let row = client.query_one(sql, &[cron, zone, &after]).await.unwrap();
            after = row.get::<_, Option<String>>(0).unwrap_or_default();
            assert_eq!(after, *expected, "{cron} in {zone}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_schedule_is_refused_and_changes_nothing() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    let client = shop.client().await;
    let timings = [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 * ",
        "* * * * 8",
        "5-1 * * * *",
        "*/0 * * * *",
        "1,,2 * * * *",
        "a * * * *",
        "* * * JAM *",
        "* * * * MO",
        "5/15 * * * *",
        "*-5 * * * *",
        "-1 * * * *",
        "* * * * FRI#6",
        "* * L-1 * *",
        "* * L * L",
        "0 0 30 2 *",
        "0 0 31 4,6,9,11 *",
        "@reboot",
        "@every 5m",
        "every",
        "every day after",
        "every 0 seconds",
        "every -1 hours",
        "every 1.5 seconds",
        "every 1 month",
        "every 367 days",
        "every 1 year",
        "? * * * *",
    ];
    let create = "select postrider.create_schedule('s', $1, p_endpoint_name => 'sink')";
    for timing in timings {
        let error = client.query_one(create, &[&timing]).await.expect_err(timing);
        let error = error.as_db_error().unwrap_or_else(|| panic!("{timing}: {error:?}"));
        assert_eq!(error.code().code(), "22023", "{timing}: {error}");
        assert!(error.message().starts_with("p_timing"), "{error}");
    }
    for (arguments, code) in [
        ("null, '@daily', p_endpoint_name => 'sink'", "22004"),
        ("'s', null, p_endpoint_name => 'sink'", "22004"),
        ("'s', '@daily', null, 'sink'", "22004"),
        ("'s', '@daily', p_endpoint_name => 'sink', p_payload => null", "22004"),
        ("'s', '@daily', p_endpoint_name => 'sink', p_missed => null", "22004"),
        ("'-s', '@daily', p_endpoint_name => 'sink'", "22023"),
        ("'s', '@daily'", "22023"),
        ("'s', '@daily', 'UTC', 'sink', 'placed'", "22023"),
        ("'s', '@daily', p_endpoint_name => 'sink', p_missed => 'some'", "22023"),
        ("'s', '@daily', p_endpoint_name => 'sink', p_priority => 11", "22023"),
        ("'s', '@daily', p_endpoint_name => 'sink', p_metadata => '{\"fired_for\": 1}'", "22023"),
        ("'s', '@daily', p_endpoint_name => 'sink', p_headers => '{\"a b\": \"c\"}'", "22023"),
        ("'s', '@daily', p_endpoint_name => 'sink', p_expires_in => '0 seconds'", "22023"),
        (
            "'s', '@daily', p_endpoint_name => 'sink', p_payload => to_jsonb(repeat('x', 2000000))",
            "22023",
        ),
        ("'s', '@daily', 'Europe/Atlantis', 'sink'", "22023"),
        ("'s', '@daily', 'CEST', 'sink'", "22023"),
        ("'s', '@daily', 'UTC+3', 'sink'", "22023"),
        ("'s', '@daily', 'posix/UTC', 'sink'", "22023"),
        // Clocks leave it out each year.
        ("'s', '*/30 2 * 3 SUN#2', 'America/New_York', 'sink'", "22023"),
        ("'s', '@daily', p_endpoint_name => 'none'", "42704"),
        ("'s', '@daily', p_event_type => 'none'", "42704"),
        ("'s', '@daily', p_event_type => 'postrider.dead_letter'", "42501"),
    ] {
        let sql = format!("select postrider.create_schedule({arguments})");
        assert_eq!(shop.refusal(&sql).await, code, "{sql}");
    }
    for verb in [
        "pause_schedule('s')",
        "resume_schedule('s')",
        "drop_schedule('s')",
        "next_firings('s')",
        "alter_schedule('s', '{}')",
    ] {
        assert_eq!(shop.refusal(&format!("select postrider.{verb}")).await, "42704", "{verb}");
    }
    assert_eq!(shop.ask::<i64>("select count(*) from postrider.schedules").await, 0);
    assert_eq!(
        shop.ask::<i64>("select count(*) from postrider.event_log where event like 'schedule.%'")
            .await,
        0
    );

    shop.execute("select postrider.create_schedule('s', '@daily', p_endpoint_name => 'sink')")
        .await;
    let again = "select postrider.create_schedule('s', '@daily', p_endpoint_name => 'sink')";
    assert_eq!(shop.refusal(again).await, "42710");
    let before: String = shop.ask("select s::text from postrider.schedules s").await;
    for changes in [
        "null",
        "'[]'",
        "'{\"nmae\": 1}'",
        "'{\"name\": \"t\"}'",
        "'{\"next_at\": \"2001-01-01\"}'",
        "'{\"timing\": \"0 0 30 2 *\"}'",
        "'{\"timing\": null}'",
        "'{\"missed\": \"some\"}'",
        "'{\"payload\": null}'",
        "'{\"endpoint_name\": null}'",
        "'{\"endpoint_name\": \"none\"}'",
        "'{\"priority\": \"high\"}'",
        "'{\"expires_in\": \"soon\"}'",
        "'{\"headers\": 1}'",
    ] {
        let sql = format!("select postrider.alter_schedule('s', {changes})");
        let code = shop.refusal(&sql).await;
        assert!(["22004", "22023", "42704"].contains(&code.as_str()), "{code}: {sql}");
    }
    assert_eq!(shop.ask::<String>("select s::text from postrider.schedules s").await, before);
}

/// What was sent for a schedule: the times, in order of the log.
async fn fired(shop: &Shop, name: &str) -> Vec<String> {
    let sql = "select m.metadata ->> 'fired_for' from postrider.message m
        where m.metadata ->> 'schedule' = $1 order by m.id";
    let rows = shop.client().await.query(sql, &[&name]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// Fires until this holds; how many calls that took.
async fn fire_until(shop: &Shop, condition: &str) -> usize {
    let client = shop.client().await;
    let condition = format!("select {condition}");
    for calls in 0..1_000 {
        if client.query_one(&condition, &[]).await.unwrap().get(0) {
            return calls;
        }
        client.batch_execute("select postrider.fire_schedules()").await.unwrap();
    }
    panic!("never: {condition}");
}

/// That so many messages were sent for a schedule.
fn has_fired(name: &str, count: usize) -> String {
    format!("(select fired_count >= {count} from postrider.schedule where name = '{name}')")
}

/// Lets the next firing of a schedule have been so many seconds ago, on its beat.
async fn make_late(shop: &Shop, name: &str, seconds: u32) {
    shop.execute(&format!(
        "update postrider.schedule s
        set next_at = date_trunc('second', now()) - interval '{seconds} seconds',
            anchor = case when s.every is not null
                then date_trunc('second', now()) - interval '{seconds} seconds' end
        where s.name = '{name}'"
    ))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_firing_is_sent_once_however_many_call() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('sink', 'discard', '{}');
        select postrider.create_schedule('s' || n, 'every 10 seconds', p_endpoint_name => 'sink', p_missed => 'all')
        from generate_series(1, 5) n",
    )
    .await;
    for n in 1..=5 {
        make_late(&shop, &format!("s{n}"), 395).await;
    }
    let mut callers = Vec::new();
    for _ in 0..6 {
        let client = shop.client().await;
        callers.push(tokio::spawn(async move {
            let due = "select exists (select from postrider.schedule where next_at <= now())";
            while client.query_one(due, &[]).await.unwrap().get(0) {
                client.query_one("select postrider.fire_schedules()", &[]).await.unwrap();
            }
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    for n in 1..=5 {
        let times = fired(&shop, &format!("s{n}")).await;
        assert!(times.len() >= 40, "{times:?}");
        let sorted: BTreeSet<_> = times.iter().cloned().collect();
        assert_eq!(sorted.into_iter().collect::<Vec<_>>(), times, "each once, in order");
        // As many as were due while this took, and no more: all on the beat.
        let sql = format!(
            "select fired_count from postrider.schedule where name = 's{n}'
            and last_at <= now() and extract(epoch from last_at - anchor) / 10 + 1 = fired_count"
        );
        assert_eq!(shop.ask::<i64>(&sql).await, times.len() as i64);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_sent_in_time_is_sent_as_the_schedule_says() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('sink', 'discard', '{}');
        select postrider.create_schedule(m, 'every 1 hour', p_endpoint_name => 'sink', p_missed => m)
        from unnest(array['skip', 'one', 'all']) m;
        select postrider.create_schedule('soon', 'every 1 hour', p_endpoint_name => 'sink', p_missed => 'skip')",
    )
    .await;
    for name in ["skip", "one", "all"] {
        make_late(&shop, name, 50 * 3600 + 600).await;
    }
    make_late(&shop, "soon", 20).await;
    let calls =
        fire_until(&shop, "not exists (select from postrider.schedule where next_at <= now())")
            .await;
    assert!(calls >= 6, "ten of one schedule in a call at most");
    assert_eq!(fired(&shop, "skip").await.len(), 0);
    assert_eq!(fired(&shop, "one").await.len(), 1);
    assert_eq!(fired(&shop, "all").await.len(), 51);
    assert_eq!(fired(&shop, "soon").await.len(), 1, "not late yet");
    let on_beat = "select bool_and(next_at > now() and next_at <= now() + every
        and extract(epoch from next_at - anchor)::bigint % 3600 = 0) from postrider.schedule";
    assert!(shop.ask::<bool>(on_beat).await, "no late firing moves the next one");
    let events = "select array_agg(details ->> 'schedule') from postrider.event_log where event = 'schedule.missed'";
    assert_eq!(shop.ask::<Vec<String>>(events).await, ["skip"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_fails_says_so_and_stops_no_other() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('off', 'discard', '{}');
        select postrider.create_endpoint('sink', 'discard', '{}');
        select postrider.create_endpoint('gone', 'discard', '{}');
        select postrider.create_schedule('good', 'every 1 second', p_endpoint_name => 'sink', p_missed => 'all');
        select postrider.create_schedule(m, 'every 1 second', p_endpoint_name => 'off', p_missed => m)
        from unnest(array['skip', 'one', 'all']) m;
        select postrider.create_schedule('gone', 'every 1 second', p_endpoint_name => 'gone');
        select postrider.create_schedule('nowhere', '@hourly', 'Europe/Berlin', 'sink');
        update postrider.schedule set time_zone = 'Europe/Atlantis' where name = 'nowhere';
        select postrider.disable_endpoint('off'), postrider.drop_endpoint('gone')",
    )
    .await;
    for name in ["good", "skip", "one", "all", "gone", "nowhere"] {
        make_late(&shop, name, 10).await;
    }
    let failing = "(select count(*) = 5 from postrider.schedule where failed_since is not null)";
    fire_until(&shop, &format!("{failing} and {}", has_fired("good", 10))).await;
    for (name, code) in [
        ("skip", "55000"),
        ("one", "55000"),
        ("all", "55000"),
        ("gone", "42704"),
        ("nowhere", "22023"),
    ] {
        let sql = format!(
            "select concat(status, ' ', last_error_code, ' ', fired_count)
            from postrider.schedules where name = '{name}'"
        );
        assert_eq!(shop.ask::<String>(&sql).await, format!("failing {code} 0"), "{name}");
    }
    let events = "select count(*) from postrider.event_log where event = 'schedule.failed'";
    assert_eq!(shop.ask::<i64>(events).await, 5);
    let health = "select concat(status, ' ', details) from postrider.health_check() where component = 'schedules'";
    let said: String = shop.ask(health).await;
    assert!(
        said.starts_with("degraded 5 of 6 schedules do not fire: all has failed for"),
        "{said}"
    );

    // Not again at once.
    let waits = "select bool_and(retry_at - tried_at between '5 seconds' and '60 seconds')
        from postrider.schedule where failed_since is not null";
    assert!(shop.ask::<bool>(waits).await);
    let counts = "select sum(failure_count)::bigint from postrider.schedule";
    shop.execute(
        "update postrider.schedule set retry_at = now() + interval '50 seconds' where failed_since is not null",
    )
    .await;
    let count: i64 = shop.ask(counts).await;
    shop.execute("select postrider.fire_schedules()").await;
    assert_eq!(shop.ask::<i64>(counts).await, count);

    // What is skipped goes on to count as failing.
    shop.execute(
        "update postrider.schedule set retry_at = null, failed_since = now() - interval '2 hours'
        where failed_since is not null",
    )
    .await;
    make_late(&shop, "skip", 5_000).await;
    // A call that takes long leaves the rest to the next one.
    let skipped = "(select status = 'failing' and next_at > now() - interval '1000 seconds'
        and failed_since < now() - interval '1 hour'
        from postrider.schedules where name = 'skip')";
    fire_until(&shop, skipped).await;
    assert_eq!(shop.ask::<i64>(events).await, 5, "said once");

    shop.execute(
        "select postrider.enable_endpoint('off');
        update postrider.schedule set retry_at = null",
    )
    .await;
    let all = [has_fired("all", 11), has_fired("one", 1), has_fired("skip", 1)].join(" and ");
    fire_until(&shop, &all).await;
    let times = fired(&shop, "all").await;
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "nothing of it is lost: {times:?}");
    let recovered = "select array_agg(details ->> 'schedule' order by 1)
        from (select details from postrider.event_log where event = 'schedule.recovered') e";
    let recovered = recovered.replace("order by 1", "order by details ->> 'schedule'");
    assert_eq!(shop.ask::<Vec<String>>(&recovered).await, ["all", "one", "skip"]);
    shop.execute("select postrider.drop_schedule('gone'), postrider.drop_schedule('nowhere')")
        .await;
    shop.until(&format!("select ({health}) like 'healthy %'")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_log_delays_firings_and_loses_none() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('full', 'discard', '{\"max_queue_size\": 1}');
        select postrider.create_endpoint('free', 'discard', '{}');
        insert into postrider.full_endpoint (endpoint_id, size_limit)
        select e.id, 1 from postrider.endpoints e where e.name = 'full';
        insert into postrider.dispatcher (id, host, pid, version)
        values ('00000000-0000-0000-0000-000000000001', 'h', 1, '1');
        insert into postrider.heartbeat (slot, dispatcher, at, lease_until, xid, sequence_floor, statistics)
        values (
            postrider.current_slot(), '00000000-0000-0000-0000-000000000001', clock_timestamp(),
            clock_timestamp() + interval '1 hour', pg_current_xact_id(), 0, '{}');
        select postrider.create_schedule(e || n, 'every 10 seconds', p_endpoint_name => e, p_missed => 'all')
        from unnest(array['full', 'free']) e, generate_series(1, 60) n",
    )
    .await;
    shop.execute(
        "update postrider.schedule s
        set next_at = date_trunc('second', clock_timestamp()) - interval '95 seconds',
            anchor = date_trunc('second', clock_timestamp()) - interval '95 seconds'",
    )
    .await;
    // 60 that fail come first, and keep the others waiting for no longer than a round or two.
    let due = |name: &str| {
        format!(
            "not exists (select from postrider.schedule
            where name like '{name}%' and next_at <= now() - interval '20 seconds')"
        )
    };
    let free = format!("select {}", due("free"));
    let mut calls = 0;
    while !shop.ask::<bool>(&free).await {
        // As long as they are full, they are tried whenever it is their turn.
        shop.execute("update postrider.schedule set retry_at = null").await;
        shop.execute("select postrider.fire_schedules()").await;
        calls += 1;
        assert!(calls < 500, "who is full takes the turns of others");
    }
    assert_eq!(
        shop.ask::<i64>("select count(*) from postrider.schedule where name like 'full%' and last_error_code = '53400'").await,
        60
    );
    shop.execute(
        "delete from postrider.full_endpoint;
        update postrider.schedule set retry_at = null",
    )
    .await;
    fire_until(&shop, &due("")).await;
    for name in ["full1", "full60", "free1"] {
        let times = fired(&shop, name).await;
        assert!(times.len() >= 7, "{name}: {times:?}");
        assert_eq!(times.iter().collect::<BTreeSet<_>>().len(), times.len());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_holds_a_schedule_or_an_endpoint_stops_no_other_schedule() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('sink', 'discard', '{}');
        select postrider.create_event_type('beat');
        select postrider.subscribe('beat', 'sink');
        select postrider.create_schedule('held', 'every 10 seconds', p_endpoint_name => 'sink', p_missed => 'all');
        select postrider.create_schedule('free', 'every 10 seconds', p_endpoint_name => 'sink', p_missed => 'all');
        select postrider.create_schedule('event', 'every 10 seconds', p_event_type => 'beat', p_missed => 'all')",
    )
    .await;
    for name in ["held", "free", "event"] {
        make_late(&shop, name, 55).await;
    }
    let stranger = shop.client().await;
    stranger
        .batch_execute(
            "begin;
            select postrider.pause_schedule('held');
            select from postrider.endpoints for update;
            select from postrider.event_types for update;
            select from postrider.subscriptions for update",
        )
        .await
        .unwrap();
    fire_until(&shop, &[has_fired("free", 6), has_fired("event", 6)].join(" and ")).await;
    // What is held makes nobody busy, unless another one is due just now.
    fire_until(&shop, "(select postrider.fire_schedules() > 50)").await;
    assert!(fired(&shop, "held").await.is_empty());
    stranger.batch_execute("rollback").await.unwrap();
    fire_until(&shop, &has_fired("held", 6)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_set_back_stops_no_interval_and_fires_nothing_twice() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('sink', 'discard', '{}');
        select postrider.create_schedule('beat', 'every 10 seconds', p_endpoint_name => 'sink', p_missed => 'all');
        select postrider.create_schedule('daily', '0 0 * * *', p_endpoint_name => 'sink');
        select postrider.create_schedule('wrong', '0 0 * * *', p_endpoint_name => 'sink');
        select postrider.create_schedule('failed', 'every 10 seconds', p_endpoint_name => 'sink')",
    )
    .await;
    // As one sees it whose clock was an hour ahead when these were tried, and thirty days.
    shop.execute(
        "update postrider.schedule set next_at = next_at + interval '1 hour', anchor = anchor + interval '1 hour',
            tried_at = now() + interval '1 hour' where name = 'beat';
        update postrider.schedule set next_at = next_at + interval '1 day', tried_at = now() + interval '1 hour'
        where name = 'daily';
        update postrider.schedule set next_at = next_at + interval '30 days', tried_at = now() + interval '30 days'
        where name = 'wrong';
        update postrider.schedule set retry_at = now() + interval '1 hour' where name = 'failed'",
    )
    .await;
    make_late(&shop, "failed", 1).await;
    let daily: String =
        shop.ask("select next_at::text from postrider.schedule where name = 'daily'").await;
    let beat =
        "(select next_at between now() - interval '5 seconds' and now() + interval '10 seconds'
        from postrider.schedule where name = 'beat')";
    let right = "(select next_at <= now() + interval '1 day' and tried_at <= now()
        from postrider.schedule where name = 'wrong')";
    fire_until(&shop, &[beat, right, &has_fired("failed", 1)].join(" and ")).await;
    let is_same =
        format!("select next_at::text = '{daily}' from postrider.schedule where name = 'daily'");
    assert!(shop.ask::<bool>(&is_same).await, "no time is fired for twice");
    let fired =
        "select sum(fired_count) = 0 from postrider.schedule where name in ('daily', 'wrong')";
    assert!(shop.ask::<bool>(fired).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_do_with_schedules_is_logged_and_holds_at_the_next_firing() {
    let shop = Shop::open_migrated().await;
    shop.execute(
        "select postrider.create_endpoint('sink', 'discard', '{}');
        select postrider.create_event_type('beat');
        select postrider.create_schedule('s', '0 9 * * *', 'Europe/Berlin', 'sink', p_payload => '{\"s3cret\": 1}',
            p_headers => '{\"x\": \"s3cret\"}', p_metadata => '{\"tenant\": \"s3cret\"}', p_priority => 3,
            p_ordering_key => 'k', p_expires_in => '1 hour', p_missed => 'all')",
    )
    .await;
    let next = "select array_agg(to_char(n.at at time zone 'Europe/Berlin', 'HH24:MI'))
        from postrider.next_firings('s', 3) n (at)";
    assert_eq!(shop.ask::<Vec<String>>(next).await, ["09:00", "09:00", "09:00"]);
    make_late(&shop, "s", 5).await;
    shop.execute("select postrider.fire_schedules()").await;
    let message = "select m.payload = '{\"s3cret\": 1}' and m.headers = '{\"x\": \"s3cret\"}'
        and m.metadata ->> 'tenant' = 's3cret' and m.priority = 3 and m.ordering_key = 'k'
        and m.expires_at between now() + interval '50 minutes' and now() + interval '1 hour'
        and m.id = (select last_message_id from postrider.schedules)
        from postrider.message m";
    assert!(shop.ask::<bool>(message).await);

    make_late(&shop, "s", 5).await;
    let client = shop.client().await;
    for (verb, changed) in [
        ("pause_schedule('s')", true),
        ("pause_schedule('s')", false),
        ("resume_schedule('s')", true),
        ("resume_schedule('s')", false),
        ("alter_schedule('s', '{}')", false),
        ("alter_schedule('s', '{\"missed\": \"all\"}')", false),
        (
            "alter_schedule('s', '{\"event_type\": \"beat\", \"headers\": null, \"payload\": [1]}')",
            true,
        ),
        ("alter_schedule('s', '{\"timing\": \"every 1 hour\"}')", true),
    ] {
        let is_changed: bool =
            client.query_one(&format!("select postrider.{verb}"), &[]).await.unwrap().get(0);
        assert_eq!(is_changed, changed, "{verb}");
        client.batch_execute("select postrider.fire_schedules()").await.unwrap();
    }
    assert_eq!(fired(&shop, "s").await.len(), 1, "what was due while it was paused is not sent");
    make_late(&shop, "s", 5).await;
    client.batch_execute("select postrider.fire_schedules()").await.unwrap();
    let message = "select m.event_type = 'beat' and m.payload = '[1]' and m.headers is null
        from postrider.message m order by m.id desc limit 1";
    assert!(shop.ask::<bool>(message).await);
    assert!(shop.ask::<bool>("select postrider.drop_schedule('s')").await);
    let left = "select count(*) from postrider.schedule_message";
    assert_eq!(shop.ask::<i64>(left).await, 0);
    let events = "select array_agg(event order by id) from postrider.event_log where event like 'schedule.%'";
    assert_eq!(
        shop.ask::<Vec<String>>(events).await,
        [
            "schedule.created",
            "schedule.paused",
            "schedule.resumed",
            "schedule.altered",
            "schedule.altered",
            "schedule.dropped"
        ]
    );
    let secret = "select not exists (select from postrider.event_log l where l::text like '%s3cret%')
        and bool_and(details ->> 'by' = session_user) from postrider.event_log where event like 'schedule.%'";
    assert!(shop.ask::<bool>(secret).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn firings_go_on_over_kills_and_each_is_sent_once() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    shop.execute(
        "select postrider.create_schedule(s, 'every 1 second', p_endpoint_name => 'hooks', p_missed => 'all')
        from unnest(array['a', 'b']) s",
    )
    .await;
    let other = shop.serve().await;
    for round in 1..=3 {
        let killed = shop.serve().await;
        shop.until(&format!("select min(fired_count) >= {} from postrider.schedule", 3 * round))
            .await;
        killed.sigkill();
    }
    other.sigkill();
    let _last = shop.serve().await;
    shop.until("select min(fired_count) >= 14 from postrider.schedule").await;
    shop.execute("select postrider.pause_schedule('a'), postrider.pause_schedule('b')").await;
    for name in ["a", "b"] {
        let gaps = format!(
            "select count(*) filter (where f.at - f.former <> interval '1 second')
            from (
                select (m.metadata ->> 'fired_for')::timestamptz as at,
                    lag((m.metadata ->> 'fired_for')::timestamptz) over (order by m.id) as former
                from postrider.message m
                where m.metadata ->> 'schedule' = '{name}'
            ) f"
        );
        assert_eq!(shop.ask::<i64>(&gaps).await, 0, "each once, in order, and none left out");
    }
    let messages: i64 = shop.ask("select count(*) from postrider.message").await;
    assert_eq!(
        shop.ask::<i64>("select sum(fired_count)::bigint from postrider.schedule").await,
        messages
    );
    receiver.wait_for_accepted(messages as usize, LONG).await.unwrap();
    // Beside a dispatcher that lives, a firing is a message within moments.
    let late = "select percentile_disc(0.5) within group (
            order by extract(epoch from m.created_at - (m.metadata ->> 'fired_for')::timestamptz)::double precision)
        from postrider.message m";
    let late: f64 = shop.ask(late).await;
    println!("late in the middle: {late} s");
    assert!((-1.0..10.0).contains(&late), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_does_what_the_functions_do() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('sink', 'discard', '{}')").await;
    let run = |arguments: &[&str]| shop.run(&[&["schedule"][..], arguments].concat());
    let created = run(&[
        "create",
        "report",
        "0 9 * * MON-FRI",
        "--time-zone",
        "Europe/Berlin",
        "--endpoint",
        "sink",
        "--payload",
        r#"{"kind": "daily"}"#,
        "--missed",
        "skip",
        "--header",
        "x-a=b",
        "--key",
        "k",
        "--expires-in",
        "1h",
        "--json",
    ])
    .succeed()
    .json();
    assert!(created["next_at"].as_str().unwrap().starts_with("20"), "{created}");
    let shown = run(&["show", "report", "--json"]).succeed().json();
    assert_eq!(shown["payload"], json!({ "kind": "daily" }));
    assert_eq!(shown["headers"], json!({ "x-a": "b" }));
    assert_eq!((&shown["missed"], &shown["status"]), (&json!("skip"), &json!("active")));
    assert_eq!(shown["expires_in"], json!("01:00:00"));
    let next = run(&["next", "report", "--count", "7", "--json"]).succeed().json();
    assert_eq!(next["next"].as_array().unwrap().len(), 7);
    assert_eq!(run(&["next", "report"]).succeed().stdout.trim().lines().count(), 5);
    run(&["alter", "report", "--timing", "every 2 hours", "--changes", r#"{"priority": 2}"#])
        .succeed();
    let shown = run(&["show", "report", "--json"]).succeed().json();
    assert_eq!((&shown["timing"], &shown["priority"]), (&json!("every 2 hours"), &json!(2)));
    run(&["pause", "report"]).succeed();
    assert!(run(&["list"]).succeed().stdout.contains("paused"));
    run(&["resume", "report"]).succeed();
    run(&["show", "reprot"]).fail(1, "Schedule 'reprot' does not exist (did you mean report?)");
    run(&["pause", "reprot"]).fail(1, "did you mean report?");
    run(&["create", "x", "* * *", "--endpoint", "sink"]).fail(2, "p_timing must be");
    run(&["create", "x", "* * * * *"]).fail(2, "required");
    run(&["alter", "report"]).fail(2, "required");
    run(&["drop", "report"]).succeed();
    assert_eq!(run(&["list"]).succeed().stdout.trim(), "There are no schedules.");
}
