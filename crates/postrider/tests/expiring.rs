//! What expires where it waits, for endpoints that take nothing, and who ends it.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::{
    draining::check_gate,
    shop::{Shop, producing::pid_of, serving::LONG},
};
use postrider_testkit::{
    postgres::Options,
    receiver::{Answer, Behaviour, Receiver},
};
use serde_json::{Value, json};
use tokio::sync::watch;

/// How long a message lives that is to be looked at, tried or set aside before it expires, on a slow and
/// busy machine.
const LIFE: &str = "8 seconds";

const ENDED: &str = "select count(*) from postrider.ended where reason = 'expired'";

impl Shop {
    async fn send_expiring(&self, endpoint: &str, number: i64, expires_in: &str, key: &str) -> i64 {
        let sql = format!(
            "select postrider.send_with_options(
                '{endpoint}', '{{\"n\": {number}}}',
                p_expires_at => clock_timestamp() + nullif('{expires_in}', '')::interval,
                p_ordering_key => nullif('{key}', ''),
                p_idempotency_key => 'message {number}')"
        );
        self.ask(&sql).await
    }

    /// An endpoint where everything waits for a retry that is far away.
    async fn slow_endpoint(&self, name: &str, url: &str) {
        let policy = json!({ "base_delay_seconds": 3600, "backoff": "fixed", "jitter": 0,
            "max_delay_seconds": 3600 });
        self.endpoint(name, json!({ "url": url }), policy).await;
    }

    async fn status(&self, id: i64) -> String {
        self.ask(&format!("select status from postrider.message_status({id})")).await
    }
}

fn numbers(receiver: &Receiver) -> Vec<i64> {
    let number =
        |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap()["n"].as_i64().unwrap();
    receiver.requests().iter().map(|request| number(&request.body)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_a_disabled_endpoint_expires_by_itself() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.slow_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let plain = shop.send_expiring("hooks", 1, LIFE, "").await;
    let first = shop.send_expiring("hooks", 2, LIFE, "k").await;
    let behind = shop.send_expiring("hooks", 3, LIFE, "k").await;
    let last = shop.send_expiring("hooks", 4, "", "k").await;
    shop.until("select count(*) = 4 from postrider.deferred").await;
    receiver.wait_for(2, LONG).await.unwrap();
    shop.execute("select postrider.disable_endpoint('hooks')").await;
    shop.until(&format!("select ({ENDED}) = 3 and count(*) = 1 from postrider.deferred")).await;
    check_lateness(&shop).await;
    for id in [plain, first, behind] {
        assert_eq!(shop.status(id).await, "expired");
    }
    assert_eq!(shop.status(last).await, "pending");
    let held: Vec<i64> =
        shop.ask("select array_agg(message_id) from postrider.idempotency_key").await;
    assert_eq!(held, [last], "keys are free when their messages have ended");

    // What is left goes when it may, and nothing else.
    receiver.set_behaviour(Behaviour::Status(200));
    shop.execute("select postrider.enable_endpoint('hooks')").await;
    receiver.wait_for_accepted(1, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    assert_eq!(numbers(&receiver).iter().filter(|number| **number > 2).collect::<Vec<_>>(), [&4]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_message_at_a_disabled_endpoint_lets_its_key_go_elsewhere() {
    let shop = Shop::open_to_receivers().await;
    let (down, up) = (
        Receiver::start(Behaviour::Status(503)).unwrap(),
        Receiver::start(Behaviour::Status(200)).unwrap(),
    );
    shop.slow_endpoint("down", &down.url()).await;
    shop.slow_endpoint("up", &up.url()).await;
    shop.execute("select postrider.set_setting('ordering_scope', 'global')").await;
    let _dispatcher = shop.serve().await;
    shop.send_expiring("down", 1, LIFE, "k").await;
    down.wait_for(1, LONG).await.unwrap();
    shop.execute("select postrider.disable_endpoint('down')").await;
    shop.send_expiring("up", 2, "", "k").await;
    shop.until("select count(*) = 2 from postrider.deferred").await;
    assert_eq!(up.request_count(), 0);
    up.wait_for_accepted(1, LONG).await.unwrap();
    assert_eq!(shop.ask::<i64>(ENDED).await, 1);
}

/// A recovery takes what is behind others that wait for not attempted: it had better be.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_behind_an_expired_message_is_not_attempted_before_that_is_on_record() {
    let shop = Shop::open_to_receivers().await;
    let (down, up) = (
        Receiver::start(Behaviour::Status(503)).unwrap(),
        Receiver::start(Behaviour::Hang).unwrap(),
    );
    shop.slow_endpoint("down", &down.url()).await;
    shop.slow_endpoint("up", &up.url()).await;
    shop.execute("select postrider.set_setting('ordering_scope', 'global')").await;
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '10')").await;
    let killed = shop.serve().await;
    let first = shop.send_expiring("down", 1, "20 seconds", "k").await;
    down.wait_for(1, LONG).await.unwrap();
    shop.execute("select postrider.disable_endpoint('down')").await;
    let behind = shop.send_expiring("up", 2, "", "k").await;
    shop.until("select count(*) = 2 from postrider.deferred").await;
    let holder = shop.client().await;
    let hold =
        format!("begin; select from postrider.deferred d where d.message_id = {first} for update");
    holder.batch_execute(&hold).await.unwrap();
    shop.until("select bool_or(d.expires_at < clock_timestamp()) from postrider.deferred d").await;
    // Its key is looked at again.
    shop.execute("select postrider.ring('postrider', 'key ' || postrider.key_mark('k'))").await;
    let claimed = format!(
        "select exists (select from postrider.claim c where {first} = any (c.message_ids))"
    );
    shop.until(&claimed).await;
    // Whoever is to be attempted is by then.
    let beats: i64 = shop.ask("select count(*) from postrider.heartbeat").await;
    shop.until(&format!("select count(*) > {beats} + 1 from postrider.heartbeat")).await;
    assert_eq!(up.request_count(), 0);

    killed.sigkill();
    holder.batch_execute("rollback").await.unwrap();
    up.set_behaviour(Behaviour::Status(200));
    let _dispatcher = shop.serve().await;
    up.wait_for_accepted(1, LONG).await.unwrap();
    shop.until("select not exists (select from postrider.deferred)").await;
    assert_eq!(numbers(&up), [2]);
    assert_eq!(shop.status(first).await, "expired");
    let unknown = format!(
        "select count(*) from postrider.attempt a where a.message_id = {behind} and a.outcome = 'unknown'"
    );
    assert_eq!(shop.ask::<i64>(&unknown).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_dispatcher_people_can_end_what_has_expired_and_nobody_may_have_in_hand() {
    let shop = Shop::open_to_receivers().await;
    // The second attempt of 2 hangs: it is claimed when its dispatcher dies.
    let receiver = Receiver::start(Behaviour::custom(|arrival| {
        let is_second =
            arrival.body.windows(2).any(|pair| pair == b" 2") && arrival.earlier_count > 0;
        if is_second { Answer::default() } else { Answer::status(503) }
    }))
    .unwrap();
    shop.slow_endpoint("slow", &receiver.url()).await;
    shop.quick_endpoint("quick", &receiver.url()).await;
    let killed = shop.serve().await;
    let waits = shop.send_expiring("slow", 1, LIFE, "").await;
    let claimed = shop.send_expiring("quick", 2, LIFE, "").await;
    let later = shop.send_expiring("slow", 3, "1 hour", "").await;
    receiver.wait_for(4, LONG).await.unwrap();
    shop.until("select count(*) = 3 from postrider.deferred").await;
    killed.sigkill();
    shop.until("select count(*) = 2 from postrider.deferred where expires_at < clock_timestamp()")
        .await;
    assert_eq!(shop.ask::<i32>("select postrider.mark_expired_messages()").await, 1);
    assert_eq!(shop.ask::<i32>("select postrider.mark_expired_messages()").await, 0);
    assert_eq!(shop.status(waits).await, "expired");
    assert_ne!(shop.status(claimed).await, "expired", "it may have been delivered");
    assert_eq!(shop.status(later).await, "pending");
    assert_eq!(shop.ask::<i64>(ENDED).await, 1);
    let held: Vec<i64> = shop
        .ask("select array_agg(message_id order by message_id) from postrider.idempotency_key")
        .await;
    assert_eq!(held, [claimed, later]);
}

/// A waiting delivery that somebody has locked is passed over, with its message.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_marks_messages_as_expired_holds_only_those() {
    let shop = Shop::open_migrated().await;
    shop.execute("select postrider.create_endpoint('a', 'discard', '{}')").await;
    let mut ids = Vec::new();
    for number in 1..=3 {
        ids.push(shop.send_expiring("a", number, "1 hour", "").await);
    }
    shop.execute(
        "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, expires_at, message_created_at)
        select m.id, m.targets[1], e.id, (m.id & 1023) >> 4, now(), now(), m.created_at
        from postrider.message m
        cross join postrider.endpoints e",
    )
    .await;
    // One row is somebody's, and one message is being cancelled.
    let [holder, canceller, open] = [shop.client().await, shop.client().await, shop.client().await];
    let hold =
        format!("begin; select from postrider.deferred where message_id = {} for update", ids[0]);
    holder.batch_execute(&hold).await.unwrap();
    let cancel = format!("begin; select from postrider.message where id = {} for update", ids[1]);
    canceller.batch_execute(&cancel).await.unwrap();
    open.batch_execute("begin").await.unwrap();
    let marked = "select postrider.mark_expired_messages()";
    assert_eq!(open.query_one(marked, &[]).await.unwrap().get::<_, i32>(0), 1);
    let free = "select array_agg(m.id order by m.id) from (
        select id from postrider.message for update skip locked) m";
    assert_eq!(shop.ask::<Vec<i64>>(free).await, [ids[0]], "nobody has it who ends nothing of it");
    for client in [&holder, &canceller, &open] {
        client.batch_execute("commit").await.unwrap();
    }
    assert_eq!(shop.ask::<i32>(marked).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dispatcher_does_not_wait_for_whoever_marks_messages_as_expired() {
    let shop = Shop::open_to_receivers().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.slow_endpoint("hooks", &receiver.url()).await;
    // It is frozen for a while, and keeps its shards.
    shop.execute("select postrider.set_setting('stale_recovery_timeout', '3600')").await;
    let dispatcher = shop.serve().await;
    for round in ["rollback", "commit"] {
        receiver.set_behaviour(Behaviour::Status(503));
        let before: i64 = shop.ask(ENDED).await;
        let id = shop.send_expiring("hooks", before, LIFE, "k").await;
        shop.until("select count(*) = 1 from postrider.deferred").await;
        dispatcher.sigstop();
        shop.until("select bool_and(expires_at < clock_timestamp()) from postrider.deferred").await;
        let open = shop.client().await;
        open.batch_execute("begin").await.unwrap();
        let marked = "select postrider.mark_expired_messages()";
        assert_eq!(open.query_one(marked, &[]).await.unwrap().get::<_, i32>(0), 1);
        let waiting = format!(
            "select count(*) from pg_stat_activity a where {} = any (pg_blocking_pids(a.pid))",
            pid_of(&open).await
        );
        dispatcher.sigcont();
        // It finds the row, leaves it alone as long as somebody holds it, and is not held up: everything else goes on.
        let seq: i64 = shop.ask("select max(seq) from postrider.heartbeat").await;
        shop.until(&format!("select count(*) > 5 from postrider.heartbeat where seq > {seq}"))
            .await;
        receiver.set_behaviour(Behaviour::Status(200));
        let began = Instant::now();
        let accepted = receiver.accepted_count();
        shop.send("hooks", json!({ "n": 99 })).await;
        receiver.wait_for_accepted(accepted + 1, LONG).await.unwrap();
        println!("{:?} for another one", began.elapsed());
        shop.until("select exists (select from postrider.done)").await;
        assert_eq!(shop.ask::<i64>(&waiting).await, 0, "somebody waits");
        open.batch_execute(round).await.unwrap();
        shop.until("select not exists (select from postrider.deferred)").await;
        shop.until(&format!("select ({ENDED}) > {before}")).await;
        assert_eq!(shop.ask::<i64>(ENDED).await, before + 1, "it ended once: {round}");
        assert_eq!(shop.status(id).await, "expired");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_either_expired_or_delivered() {
    const COUNT: i64 = 1_500;
    let shop = Arc::new(Shop::open_to_receivers().await);
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    let seed = fastrand::u64(..1_000_000);
    println!("seed {seed}");
    let (stop, is_stopped) = watch::channel(false);
    let markers: Vec<_> = (0..3)
        .map(|index| {
            let (shop, is_stopped) = (Arc::clone(&shop), is_stopped.clone());
            tokio::spawn(async move {
                let mut dice = fastrand::Rng::with_seed(seed + index);
                let client = shop.client().await;
                let sql = "select postrider.mark_expired_messages()";
                let mut marked = 0;
                while !*is_stopped.borrow() {
                    client.batch_execute("begin").await.unwrap();
                    let count: i32 = client.query_one(sql, &[]).await.unwrap().get(0);
                    // Transactions stay open for a while, and not all are committed.
                    tokio::time::sleep(Duration::from_millis(dice.u64(0..40))).await;
                    let is_kept = dice.u8(..4) > 0;
                    client
                        .batch_execute(if is_kept { "commit" } else { "rollback" })
                        .await
                        .unwrap();
                    marked += if is_kept { count } else { 0 };
                }
                marked
            })
        })
        .collect();
    // Each is due at about the time at which it expires.
    let client = shop.client().await;
    let mut dice = fastrand::Rng::with_seed(seed);
    let send = client
        .prepare(
            "select postrider.send_with_options(
                'hooks', '{}', p_scheduled_at => clock_timestamp() + $1::int * interval '1 ms',
                p_expires_at => clock_timestamp() + $2::int * interval '1 ms',
                p_ordering_key => $3)",
        )
        .await
        .unwrap();
    for _ in 0..COUNT {
        let scheduled = dice.i32(20..80);
        // From hardly any time to plenty, however busy the machine is.
        let expires = scheduled + dice.i32(1..16).pow(3);
        let key = (dice.u8(..3) == 0).then(|| format!("k{}", dice.u8(..20)));
        client.execute(&send, &[&scheduled, &expires, &key]).await.unwrap();
    }
    let ended = || async { shop.ask::<i64>("select count(*) from postrider.ended").await };
    let began = Instant::now();
    while ended().await + (receiver.accepted_count() as i64) < COUNT {
        assert!(began.elapsed() < LONG, "{} and {}", ended().await, receiver.accepted_count());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    shop.until("select not exists (select from postrider.deferred)").await;
    stop.send(true).unwrap();
    let mut marked = 0;
    for marker in markers {
        marked += marker.await.unwrap();
    }
    let ids: Vec<i64> = shop.ask("select array_agg(message_id) from postrider.ended").await;
    let expired: HashSet<i64> = ids.iter().copied().collect();
    let arrived: HashSet<i64> = receiver.distinct_ids().iter().map(|id| id.0).collect();
    println!("{} delivered, {} expired, {marked} of them marked", arrived.len(), expired.len());
    let both: Vec<&i64> = arrived.intersection(&expired).collect();
    assert!(both.is_empty(), "expired, and attempted all the same: {both:?}");
    assert_eq!(ids.len(), expired.len(), "each ended once");
    assert_eq!((expired.len() + arrived.len()) as i64, COUNT);
    assert_eq!(receiver.request_count(), arrived.len(), "nothing came twice");
    assert!(marked > 0 && !arrived.is_empty(), "there was no race");
}

/// Many messages for one endpoint, of which some expire after a while. In small transactions, so that each is there to
/// be read long before it expires. Where all expire, they do so at a third of the rate at which they are sent: what can
/// be sent so fast here can be ended in time, however slow the machine is.
async fn flood(shop: &Shop, endpoint: &str, count: usize, expiring: usize) -> Vec<i64> {
    const AT_ONCE: usize = 500;
    let client = shop.client().await;
    let every = count / expiring;
    let mut ids = Vec::new();
    let began = Instant::now();
    for first in (1..=count).step_by(AT_ONCE) {
        let last = count.min(first + AT_ONCE - 1);
        let later = if every == 1 { 2.0 * began.elapsed().as_secs_f64() } else { 0.0 };
        let sql = format!(
            "select coalesce(array_agg(s.id order by s.n) filter (where s.n % {every} = 0), '{{}}')
            from (
                select
                    n,
                    case when n % {every} = 0 then postrider.send_with_options(
                        '{endpoint}', jsonb_build_object('n', n),
                        p_expires_at => clock_timestamp() + interval '{LIFE}' + {later} * interval '1 s',
                        p_idempotency_key => 'message ' || n)
                    else postrider.send('{endpoint}', jsonb_build_object('n', n)) end as id
                from generate_series({first}, {last}) n
            ) s"
        );
        let sent: Vec<i64> = client.query_one(&sql, &[]).await.unwrap().get(0);
        ids.extend(sent);
    }
    ids
}

/// How long after its expiry, or its commit or {since} if that was later, the end of what has expired was committed, in
/// seconds at most: in all, and less the time for which a dispatcher stood still meanwhile, or the server, or the
/// machine. That is when a heartbeat came later than usual, for heartbeats have a thread and a connection of their own;
/// what is usual is an interval between two (`BEAT_INTERVAL`) at least, however soon one follows another at the beginning.
const LATENESS: &str = "with ends as (
        select
            greatest(m.expires_at, pg_xact_commit_timestamp(m.xid::xid), '{since}') as due_at,
            pg_xact_commit_timestamp(e.xmin) as ended_at
        from postrider.ended e
        join postrider.message m on m.id = e.message_id
        where e.reason = 'expired'
    ), gaps as (
        select lag(h.at) over (partition by h.dispatcher order by h.seq) as from_at, h.at as to_at
        from (
            select h.dispatcher, h.seq, h.at from postrider.heartbeat h
            union all
            -- The next one is still to come.
            select h.dispatcher, max(h.seq) + 1, clock_timestamp() from postrider.heartbeat h group by 1
        ) h
    ), usual as (
        select greatest(percentile_cont(0.5) within group (order by g.to_at - g.from_at), '2 s') as gap from gaps g
    ), pauses as materialized (
        select g.from_at + u.gap as from_at, g.to_at
        from gaps g
        cross join usual u
        where g.to_at - g.from_at > u.gap + interval '50 ms'
    )
    select
        max(extract(epoch from l.late))::float8,
        max(extract(epoch from l.late - l.paused))::float8
    from (
        select
            n.ended_at - n.due_at as late,
            (
                select coalesce(sum(least(p.to_at, n.ended_at) - greatest(p.from_at, n.due_at)), '0')
                from pauses p
                where p.from_at < n.ended_at
                and p.to_at > n.due_at
            ) as paused
        from ends n
    ) l";

/// What has expired ends within 5 s, wherever it waits.
async fn check_lateness(shop: &Shop) {
    check_lateness_since(shop, "-infinity").await;
}

/// The same of what cannot end before a moment.
pub async fn check_lateness_since(shop: &Shop, since: &str) {
    let sql = LATENESS.replace("{since}", since);
    let row = shop.client().await.query_one(&sql, &[]).await.unwrap();
    let [late, awake]: [f64; 2] = [0, 1].map(|column| row.get(column));
    let said = format!("{late} s after its expiry, {awake} s of which nothing stood still");
    println!("{said}");
    assert!(awake <= 5.0, "{said}");
}

/// A server that notes when each transaction has committed.
async fn open() -> Shop {
    Shop::open_to_receivers_with(Options::default().set("track_commit_timestamp", "on")).await
}

/// That all of these end as expired by themselves and soon, free their keys, and are counted no more.
async fn expire_by_themselves(shop: &Shop, ids: &[i64], others: i64) {
    let expected = ids.len();
    shop.until(&format!("select ({ENDED}) = {expected}")).await;
    check_lateness(shop).await;
    for id in [ids[0], ids[ids.len() - 1]] {
        assert_eq!(shop.status(id).await, "expired");
    }
    shop.until("select not exists (select from postrider.idempotency_key)").await;
    shop.until(&format!(
        "select h.pending_messages = {others} from postrider.get_endpoint_health('hooks') h"
    ))
    .await;
    assert_eq!(shop.ask::<i32>("select postrider.mark_expired_messages()").await, 0);
    let queued = "select count(*) from postrider.queue where expires_at is not null";
    assert_eq!(shop.ask::<i64>(queued).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_in_a_paused_endpoints_backlog_expires_by_itself() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.quick_endpoint("hooks", &receiver.url()).await;
    shop.execute("select postrider.pause_endpoint('hooks')").await;
    let _dispatcher = shop.serve().await;
    let ids = flood(&shop, "hooks", 20_000, 50).await;
    expire_by_themselves(&shop, &ids, 20_000 - 50).await;
    // Nothing else was touched, and nothing that has expired comes.
    shop.execute("select postrider.resume_endpoint('hooks')").await;
    receiver.wait_for_accepted(20_000 - 50, LONG).await.unwrap();
    assert_eq!(receiver.distinct_ids().len(), 20_000 - 50);
    assert!(numbers(&receiver).iter().all(|number| number % 400 != 0), "expired, and delivered");
}

/// One soon after the other, and then there is room again for as many.
#[tokio::test(flavor = "multi_thread")]
async fn a_whole_backlog_expires_by_itself() {
    const COUNT: usize = 20_000;
    const LIMIT: i64 = 50_000;
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(200)).unwrap();
    shop.execute(&format!("select postrider.set_setting('max_queue_size', '{LIMIT}')")).await;
    shop.quick_endpoint("hooks", &receiver.url()).await;
    shop.execute("select postrider.pause_endpoint('hooks')").await;
    let _dispatcher = shop.serve().await;
    let ids = flood(&shop, "hooks", COUNT, COUNT).await;
    expire_by_themselves(&shop, &ids, 0).await;
    check_gate(&shop, LIMIT).await;
    assert_eq!(receiver.request_count(), 0);
}

/// More of them than a dispatcher looks at.
#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_holds_does_not_keep_others_from_expiring() {
    const COUNT: usize = 5_000;
    /// Long enough for all of them to be set aside before the first expires.
    const LIFE: &str = "16 seconds";
    let shop = Shop::open_to_receivers().await;
    for name in ["hooks", "others"] {
        shop.execute(&format!("select postrider.create_endpoint('{name}', 'discard', '{{}}')"))
            .await;
        shop.execute(&format!("select postrider.pause_endpoint('{name}')")).await;
    }
    let _dispatcher = shop.serve().await;
    shop.execute(&format!(
        "select count(postrider.send_with_options(
            'hooks', '{{}}', p_expires_at => clock_timestamp() + interval '{LIFE}'))
        from generate_series(1, {COUNT})"
    ))
    .await;
    shop.until(&format!("select count(*) = {COUNT} from postrider.deferred")).await;
    let stranger = shop.client().await;
    stranger.batch_execute("begin; select from postrider.deferred for update").await.unwrap();
    let id = shop.send_expiring("others", 0, LIFE, "").await;
    shop.until(&format!("select ({ENDED}) = 1")).await;
    assert_eq!(shop.status(id).await, "expired");
    stranger.batch_execute("rollback").await.unwrap();
    shop.until(&format!("select ({ENDED}) = {COUNT} + 1")).await;
}

/// Many pages of them, and all before the one that is to expire.
#[tokio::test(flavor = "multi_thread")]
async fn what_expires_behind_many_that_somebody_holds_ends_as_soon_as_any() {
    const COUNT: usize = 20_000;
    let shop = open().await;
    for name in ["hooks", "others"] {
        shop.execute(&format!("select postrider.create_endpoint('{name}', 'discard', '{{}}')"))
            .await;
        shop.execute(&format!("select postrider.pause_endpoint('{name}')")).await;
    }
    shop.execute(&format!(
        "insert into postrider.deferred (
            message_id, target, endpoint_id, shard, run_at, message_created_at, expires_at)
        select
            g * 1024 + 16, e.direct_subscription_id, e.id, 1, now() + interval '1 day', now(),
            now() - interval '1 hour'
        from generate_series(1, {COUNT}) g
        cross join postrider.endpoints e
        where e.name = 'hooks'"
    ))
    .await;
    let stranger = shop.client().await;
    stranger.batch_execute("begin; select from postrider.deferred for update").await.unwrap();
    let _dispatcher = shop.serve().await;
    for number in 1..=2 {
        let id = shop.send_expiring("others", number, "4 seconds", "").await;
        shop.until(&format!("select ({ENDED}) = {number}")).await;
        check_lateness(&shop).await;
        assert_eq!(shop.status(id).await, "expired");
    }
    stranger.batch_execute("rollback").await.unwrap();
    // Nothing is left out because it was passed over.
    shop.until("select not exists (select from postrider.deferred)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_behind_an_open_circuit_expires_by_itself() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Status(503)).unwrap();
    shop.execute("select postrider.set_setting('circuit_breaker_threshold', '1')").await;
    shop.execute("select postrider.set_setting('circuit_breaker_cooldown', '3600')").await;
    shop.slow_endpoint("hooks", &receiver.url()).await;
    let _dispatcher = shop.serve().await;
    shop.send("hooks", json!({ "n": 0 })).await;
    shop.until("select state = 'open' from postrider.circuit").await;
    let ids = flood(&shop, "hooks", 5_000, 50).await;
    expire_by_themselves(&shop, &ids, 5_000 - 50 + 1).await;
    assert_eq!(receiver.request_count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_in_memory_behind_a_slow_request_expires_by_itself() {
    let shop = open().await;
    let receiver = Receiver::start(Behaviour::Hang).unwrap();
    shop.execute("select postrider.set_setting('http_timeout', '300')").await;
    let config = json!({ "url": receiver.url(), "concurrency": 1 });
    shop.endpoint("hooks", config, json!({})).await;
    let _dispatcher = shop.serve().await;
    shop.send("hooks", json!({ "n": 0 })).await;
    receiver.wait_for(1, LONG).await.unwrap();
    let plain = shop.send_expiring("hooks", 1, LIFE, "").await;
    let keyed = shop.send_expiring("hooks", 2, LIFE, "k").await;
    let behind = shop.send_expiring("hooks", 3, LIFE, "k").await;
    shop.until(&format!("select ({ENDED}) = 3")).await;
    check_lateness(&shop).await;
    for id in [plain, keyed, behind] {
        assert_eq!(shop.status(id).await, "expired");
    }
    assert_eq!(numbers(&receiver), [0], "the first answer is still to come");
}
