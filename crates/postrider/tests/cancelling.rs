//! Taking messages back, and how SQL knows what dispatchers have taken. No dispatcher runs: its
//! checkpoints, claims and waiting deliveries are written by the test.

use crate::shop::{
    Shop,
    producing::{check_refusal, checkpoint, id_of},
};
use postrider_core::{
    id::{MessageId, Target},
    position::Position,
    reader::{Lag, LaneState, Row},
    snapshot::{Snapshot, Xid},
};
use serde_json::{Value, json};
use tokio_postgres::Client;

async fn batch(client: &Client, sql: &str) {
    client.batch_execute(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
}

async fn cancel(client: &Client, id: i64) -> bool {
    let sql = "select postrider.cancel_message($1)";
    client.query_one(sql, &[&id]).await.unwrap().get(0)
}

/// Everything that was sent so far is taken, in all shards.
async fn take_all(client: &Client) {
    let sql = "select pg_current_snapshot()::text";
    let snapshot: String = client.query_one(sql, &[]).await.unwrap().get(0);
    let position = Position::at(snapshot.parse().unwrap());
    let state = LaneState { tail: position.clone(), lag: None, done: vec![position], open: None };
    let state = json!([{ "state": state }]).to_string();
    let shards: Vec<i16> = (0..16).collect();
    batch(client, &checkpoint(&shards, &[0; 16], &state)).await;
}

/// A delivery that waits, with what differs from one that was never attempted.
async fn defer(client: &Client, id: i64, change: &str) {
    let sql = format!(
        "insert into postrider.deferred (message_id, target, endpoint_id, shard, run_at,
            message_created_at, ordering_key)
        select m.id, t.target, s.endpoint_id, m.lane >> 4, coalesce(m.scheduled_at, now()),
            m.created_at, m.ordering_key
        from postrider.message m
        cross join lateral unnest(m.targets) t (target)
        join postrider.subscriptions s on s.id = t.target
        where m.id = {id}"
    );
    batch(client, &sql).await;
    if !change.is_empty() {
        let sql = format!("update postrider.deferred set {change} where message_id = {id}");
        batch(client, &sql).await;
    }
}

/// How many targets of a message are recorded as cancelled, and how many are marked for the
/// dispatcher that will read it.
async fn cancelled(shop: &Shop, id: i64) -> (i64, i64) {
    let count =
        |table: &str| format!("select count(*) from postrider.{table} where message_id = {id}");
    let ended = format!("{} and reason = 'cancelled'", count("ended"));
    (shop.ask(&ended).await, shop.ask(&count("cancellation")).await)
}

const SEND: &str = "select postrider.send('a', '1')";

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_read_is_cancelled_once() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    batch(
        &client,
        "select postrider.create_endpoint('b', 'discard', '{}');
        select postrider.create_event_type('e');
        select postrider.subscribe('e', 'a'), postrider.subscribe('e', 'b');",
    )
    .await;
    for (sql, targets) in [
        (SEND, 1),
        ("select postrider.send_with_options('a', '1', p_ordering_key => 'o')", 1),
        ("select postrider.send_with_options('a', '1', 7, p_idempotency_key => 'k')", 1),
        ("select postrider.publish('e', '1')", 2),
    ] {
        let id = id_of(&client, sql).await;
        assert!(cancel(&client, id).await, "{sql}");
        assert_eq!(cancelled(&shop, id).await, (targets, targets), "{sql}");
        assert!(!cancel(&client, id).await, "{sql}");
        assert_eq!(cancelled(&shop, id).await, (targets, targets), "{sql}");
    }
    assert!(!cancel(&client, 4711 << 10).await, "no such message");
    assert!(!cancel(&client, -1).await, "no such message");
    // The key may be used again, also for something else.
    batch(&client, "select postrider.send_with_options('a', '2', p_idempotency_key => 'k')").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_is_not_cancelled() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let taken = id_of(&client, SEND).await;
    take_all(&client).await;
    let later = id_of(&client, SEND).await;
    assert!(!cancel(&client, taken).await);
    assert_eq!(cancelled(&shop, taken).await, (0, 0));
    assert!(cancel(&client, later).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_delivery_is_cancelled_if_it_was_never_attempted() {
    let shop = Shop::open_to_producers().await;
    shop.allow_far_schedules().await;
    let client = shop.client().await;
    let schedule = "select postrider.send_with_options('a', '1', p_scheduled_at => '2100-01-01')";
    for (change, then, expected) in [
        ("", "select", true),
        ("retry_count = 1", "select", false),
        ("recovery_count = 1", "select", false),
        (
            "",
            "insert into postrider.attempt (message_id, target, endpoint_id, number, started_at,
                duration_ms, outcome)
            select message_id, target, 1, 1, now(), 5, 'rejected' from postrider.deferred",
            false,
        ),
        (
            "",
            "insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
            select 1, gen_random_uuid(), array[5, message_id], array[1, target], array[0, 0]
            from postrider.deferred",
            false,
        ),
        // Nobody's: another delivery of the message was redriven.
        (
            "",
            "insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
            select 1, '00000000-0000-0000-0000-000000000000', array[message_id], array[4711], array[0]
            from postrider.deferred",
            true,
        ),
    ] {
        let id = id_of(&client, schedule).await;
        take_all(&client).await;
        defer(&client, id, change).await;
        batch(&client, then).await;
        assert_eq!(cancel(&client, id).await, expected, "{change} {then}");
        // Nobody has to read it any more: no mark.
        assert_eq!(cancelled(&shop, id).await, (i64::from(expected), 0), "{change} {then}");
        let waits =
            format!("select exists (select from postrider.deferred where message_id = {id})");
        assert_eq!(shop.ask::<bool>(&waits).await, !expected);
        assert!(!cancel(&client, id).await);
        batch(&client, "delete from postrider.deferred").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_claimed_before_it_was_redriven_is_in_nobodys_hand() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let id = id_of(&client, SEND).await;
    take_all(&client).await;
    defer(&client, id, "").await;
    for (owner, expected) in [("1", true), ("0", false), ("1", true), ("2", true), ("0", false)] {
        let owner = format!("0000000{owner}-0000-0000-0000-000000000000");
        batch(
            &client,
            &format!(
                "update postrider.shard set owner = '00000001-0000-0000-0000-000000000000';
                insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
                select 1, '{owner}', array[message_id], array[target], array[0]
                from postrider.deferred"
            ),
        )
        .await;
        for function in ["is_claimed", "is_in_hand"] {
            let sql = format!(
                "select postrider.{function}(message_id, target, 0) from postrider.deferred"
            );
            assert_eq!(shop.ask::<bool>(&sql).await, expected, "{function} after {owner}");
        }
    }
    check_claims_of_messages(&shop).await;
}

/// Who asks for some messages hears the same of them as who asks for all, and does not take apart what is about
/// others only.
async fn check_claims_of_messages(shop: &Shop) {
    shop.execute(
        "insert into postrider.claim (slot, owner, message_ids, targets, retry_counts)
        select
            g % 3,
            ('0000000' || case when g % 5 = 0 then 0 else 1 end || '-0000-0000-0000-000000000000')::uuid,
            array_agg((((g * 37 + k * 101) % 2000)::bigint << 10) | (k % 16 * 16)),
            array_fill(1, array[20]), array_fill(0, array[20])
        from generate_series(1, 200) g
        cross join generate_series(1, 20) k
        group by g",
    )
    .await;
    let claims = |ids: &str| {
        format!(
            "select h.message_id, h.target, h.retry_count
            from (
                select array_agg(o.owner) as owners, array_agg(o.shard) as shards
                from postrider.claim_holders() o
            ) s
            cross join lateral postrider.standing_claims(s.owners, s.shards, {ids}) h"
        )
    };
    let named =
        "select i.id from postrider.claim c cross join lateral unnest(c.message_ids) i (id)";
    let chosen =
        format!("array({named} where i.id >> 10 between 300 and 900 and (i.id >> 10) % 7 = 0)");
    let [all, some] = [claims("null"), claims(&chosen)]
        .map(|sql| format!("({sql} where h.message_id = any ({chosen}))"));
    let differing = format!(
        "select count(*) from (({all} except all {some}) union all ({some} except all {all})) d"
    );
    assert_eq!(shop.ask::<i64>(&differing).await, 0);
    let counts = [all, some, claims(&chosen), claims("null")]
        .map(|sql| format!("select count(*) from ({sql}) c"));
    let mut found = Vec::new();
    for count in &counts {
        found.push(shop.ask::<i64>(count).await);
    }
    assert!(found[0] > 0 && found[0] == found[1], "{found:?}");
    let somebodys = "c.owner <> '00000000-0000-0000-0000-000000000000'";
    let one = format!("array[({named} where {somebodys} order by c.seq desc, i.id limit 1)]");
    let naming = format!(
        "select count(*) from postrider.claim c where c.message_ids && {one} and {somebodys}"
    );
    let (naming, of_one) = (
        shop.ask::<i64>(&naming).await,
        shop.ask::<i64>(&format!("select count(*) from ({}) c", claims(&one))).await,
    );
    assert!(
        of_one <= 20 * naming && 20 * naming < found[3],
        "{of_one} of {naming} claims, {found:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_published_message_what_was_not_attempted_is_cancelled() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    batch(
        &client,
        "select postrider.create_endpoint(n, 'discard', '{}') from unnest(array['b', 'c']) n;
        select postrider.create_event_type('e');
        select postrider.subscribe('e', n) from unnest(array['a', 'b', 'c']) n;",
    )
    .await;
    let publish = "select postrider.publish('e', '1', p_idempotency_key => 'k')";
    let id = id_of(&client, publish).await;
    take_all(&client).await;
    defer(&client, id, "").await;
    // One is attempted, one was delivered.
    let last = "(select max(target) from postrider.deferred)";
    let first = "(select min(target) from postrider.deferred)";
    batch(
        &client,
        &format!(
            "update postrider.deferred set retry_count = 1 where target = {last};
            insert into postrider.partly_done (message_id, at, targets)
            values ({id}, now(), array[{first}]);
            delete from postrider.deferred where target = {first};"
        ),
    )
    .await;
    assert!(cancel(&client, id).await);
    assert_eq!(cancelled(&shop, id).await, (1, 0));
    assert!(!cancel(&client, id).await);
    assert_eq!(id_of(&client, publish).await, id, "one delivery is not over");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_counts_when_it_is_committed() {
    let shop = Shop::open_to_producers().await;
    let (client, other) = (shop.client().await, shop.client().await);
    let id = id_of(&client, SEND).await;
    batch(&client, "begin").await;
    assert!(cancel(&client, id).await);
    batch(&client, "rollback").await;
    assert_eq!(cancelled(&shop, id).await, (0, 0));
    // Two at once: the second waits, and comes too late.
    batch(&client, "begin").await;
    assert!(cancel(&client, id).await);
    let pid = crate::shop::producing::pid_of(&other).await;
    let waiting = tokio::spawn(async move { cancel(&other, id).await });
    crate::shop::producing::until_blocked(&shop, pid).await;
    batch(&client, "commit").await;
    assert!(!waiting.await.unwrap());
    assert_eq!(cancelled(&shop, id).await, (1, 1));

    // In the transaction that sends.
    batch(&client, "begin").await;
    let id = id_of(&client, SEND).await;
    assert!(cancel(&client, id).await);
    assert!(!cancel(&client, id).await);
    batch(&client, "commit").await;
    assert_eq!(cancelled(&shop, id).await, (1, 1));

    let id = id_of(&client, SEND).await;
    for level in ["repeatable read", "serializable"] {
        let text = format!(
            "cancel_message needs a transaction with isolation level READ COMMITTED, this is {}",
            level.to_uppercase()
        );
        batch(&client, &format!("begin isolation level {level}")).await;
        let sql = format!("select postrider.cancel_message({id})");
        check_refusal(&client, (&sql, "25001", &text)).await;
        batch(&client, "rollback").await;
    }
    batch(&client, "begin isolation level read uncommitted").await;
    assert!(cancel(&client, id).await);
    batch(&client, "commit").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_delivery_lets_the_next_of_its_key_go() {
    let shop = Shop::open_to_producers().await;
    shop.allow_far_schedules().await;
    let client = shop.client().await;
    let send = "select postrider.send_with_options('a', '1', p_ordering_key => 'o',
        p_scheduled_at => '2100-01-01')";
    let mut ids = Vec::new();
    for index in 0..4 {
        let id = id_of(&client, send).await;
        defer(&client, id, if index > 0 { "is_blocked = true, run_at = 'infinity'" } else { "" })
            .await;
        ids.push(id);
    }
    take_all(&client).await;
    let waiting = "select coalesce(array_agg(message_id order by message_id), '{}')
        from postrider.deferred where is_blocked";
    // Not the first: the first still blocks the others.
    assert!(cancel(&client, ids[1]).await);
    assert_eq!(shop.ask::<Vec<i64>>(waiting).await, ids[2..]);
    // Neither is anything changed that a dispatcher may have in hand: it is told, and lets go itself.
    assert!(cancel(&client, ids[0]).await);
    assert_eq!(shop.ask::<Vec<i64>>(waiting).await, ids[2..]);
    let release = "select postrider.release_keys('{o}')";
    assert_eq!(shop.ask::<i32>(release).await, 1);
    assert_eq!(shop.ask::<Vec<i64>>(waiting).await, ids[3..]);
    let due = format!(
        "select run_at = '2100-01-01' from postrider.deferred where message_id = {}",
        ids[2]
    );
    assert!(shop.ask::<bool>(&due).await, "no sooner than it is scheduled");
    assert!(cancel(&client, ids[2]).await);
    assert_eq!(shop.ask::<i32>(release).await, 1);
    assert_eq!(shop.ask::<Vec<i64>>(waiting).await, Vec::<i64>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cancelled_delivery_waited_for_still_blocks_the_rest() {
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let send = "select postrider.send_with_options('a', '1', p_ordering_key => 'o')";
    // The first is in flight: it does not wait, and no row says so.
    let mut ids = vec![id_of(&client, send).await];
    for _ in 0..2 {
        let id = id_of(&client, send).await;
        defer(&client, id, "is_blocked = true, run_at = 'infinity'").await;
        ids.push(id);
    }
    take_all(&client).await;
    assert!(cancel(&client, ids[1]).await);
    let sql = "select is_blocked from postrider.deferred";
    assert!(shop.ask::<bool>(sql).await, "the first may be under way");
}

/// A message, as far as readers are concerned.
struct Message {
    id: i64,
    xid: Xid,
    targets: Vec<Target>,
    expires: bool,
}

impl Row for Message {
    fn id(&self) -> MessageId {
        MessageId(self.id)
    }

    fn xid(&self) -> Xid {
        self.xid
    }

    fn targets(&self) -> &[Target] {
        &self.targets
    }

    fn expires(&self) -> bool {
        self.expires
    }
}

fn snapshot(dice: &mut fastrand::Rng) -> Snapshot {
    let xmin = dice.u64(4..40);
    let xmax = xmin + dice.u64(0..20);
    let in_progress = (xmin..xmax).filter(|_| dice.u8(0..4) == 0).collect();
    Snapshot::new(xmin, xmax, in_progress).unwrap()
}

fn position(dice: &mut fastrand::Rng) -> Position {
    let base = snapshot(dice);
    if dice.bool() {
        return Position::at(base);
    }
    Position::within(base, snapshot(dice), dice.i64(0..64) * 1024 + 512, 64 * 1024)
}

fn lane_state(dice: &mut fastrand::Rng) -> LaneState {
    let lag = dice.bool().then(|| Lag {
        remaining: Default::default(),
        spares_expiring: true,
        last: None,
        position: position(dice),
        skipped: (1..4)
            .filter(|_| dice.bool())
            .map(Target)
            .collect::<Vec<_>>()
            .into_iter()
            .map(|target| (target, position(dice)))
            .collect(),
    });
    let open = dice.bool().then(|| {
        let range = |dice: &mut fastrand::Rng| {
            let first = dice.i64(0..64) * 1024;
            (first, first + dice.i64(0..16) * 1024)
        };
        (0..dice.usize(0..3)).map(|_| range(dice)).collect()
    });
    LaneState { tail: position(dice), lag, done: vec![position(dice)], open }
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_knows_what_is_taken_as_dispatchers_do() {
    const CHECKPOINT_COUNT: usize = 60;
    const MESSAGE_COUNT: usize = 200;
    let seed: u64 =
        std::env::var("SEED").map_or_else(|_| fastrand::u64(..), |s| s.parse().unwrap());
    println!("SEED={seed}");
    let mut dice = fastrand::Rng::with_seed(seed);
    let shop = Shop::open_to_producers().await;
    let client = shop.client().await;
    let taken = client
        .prepare(
            "select array_agg(
                postrider.is_taken(m.id, m.xid::xid8, string_to_array(m.targets, ' ')::integer[])
                order by m.place),
            array_agg(
                postrider.may_wait(
                    (select postrider.lane_states()), m.id, m.xid::xid8,
                    string_to_array(m.targets, ' ')::integer[])
                order by m.place)
            from unnest($1::bigint[], $2::text[], $3::text[])
                with ordinality m (id, xid, targets, place)",
        )
        .await
        .unwrap();
    let mut counts = [0, 0];
    let mut waiting_counts = [0, 0];
    for number in 0..CHECKPOINT_COUNT {
        // Lanes of shard 2 in a few groups, and a common state, as a dispatcher writes them. Older
        // checkpoints of the shard and newer ones of others say something else.
        let states: Vec<LaneState> = (0..3).map(|_| lane_state(&mut dice)).collect();
        let group_of: Vec<usize> = (0..16).map(|_| dice.usize(0..3)).collect();
        let groups: Vec<Value> = (0..3)
            .map(|group| {
                let lanes: Vec<usize> =
                    (0..16).filter(|lane| group_of[*lane] == group).map(|lane| 32 + lane).collect();
                match group {
                    0 => json!({ "state": states[0] }),
                    _ => json!({ "lanes": lanes, "state": states[group] }),
                }
            })
            .filter(|group| group.get("lanes").is_none_or(|lanes| lanes != &json!([])))
            .collect();
        let state = Value::Array(groups).to_string();
        let shards: &[i16] = if number % 2 == 0 { &[2] } else { &[1, 2, 5] };
        batch(&client, &checkpoint(shards, &vec![0; shards.len()], &state)).await;
        let other = json!([{ "state": lane_state(&mut dice) }]).to_string();
        batch(&client, &checkpoint(&[3, 4], &[0, 0], &other)).await;

        let messages: Vec<Message> = (0..MESSAGE_COUNT)
            .map(|_| Message {
                id: dice.i64(1..64) * 1024 + 32 + dice.i64(0..16),
                xid: dice.u64(3..64),
                targets: (0..dice.usize(0..3)).map(|_| Target(dice.i32(1..5))).collect(),
                expires: dice.bool(),
            })
            .collect();
        let ids: Vec<i64> = messages.iter().map(|message| message.id).collect();
        let xids: Vec<String> = messages.iter().map(|message| message.xid.to_string()).collect();
        let targets: Vec<String> = messages
            .iter()
            .map(|message| {
                // As callers do: what expires is left to nobody.
                let skippable = message.targets.iter().filter(|_| !message.expires);
                let targets = skippable.map(|target| target.0.to_string());
                targets.collect::<Vec<_>>().join(" ")
            })
            .collect();
        let row = client.query_one(&taken, &[&ids, &xids, &targets]).await.unwrap();
        let (taken, waiting): (Vec<bool>, Vec<bool>) = (row.get(0), row.get(1));
        for (message, answers) in messages.iter().zip(taken.into_iter().zip(waiting)) {
            let state = &states[group_of[(message.id & 15) as usize]];
            let expected = (state.is_taken(message), state.may_wait(message));
            assert_eq!(
                answers, expected,
                "{} {} {:?} {state:?}",
                message.id, message.xid, message.targets
            );
            counts[usize::from(expected.0)] += 1;
            waiting_counts[usize::from(expected.1)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 1_000), "{counts:?}");
    assert!(waiting_counts.iter().all(|count| *count > 500), "{waiting_counts:?}");
}

/// The file that `store/lease.rs` compares with what a dispatcher writes.
#[tokio::test]
async fn sql_reads_a_checkpoint_as_it_is_written() {
    let shop = Shop::open_migrated().await;
    shop.execute(&checkpoint(&[3], &[0], include_str!("../testdata/checkpoint.json"))).await;
    let of_common = |number: i64| number << 10 | 48;
    let of_its_own = |number: i64| number << 10 | 54;
    // The tail's window ends at number 5, target 7 is left to the lag behind number 3, and the lag has read nothing.
    let cases = [
        (of_common(9), 19, "{}", true),
        (of_common(9), 21, "{}", false),
        (of_common(9), 23, "{7}", true),
        (of_common(9), 24, "{}", false),
        (of_its_own(4), 10, "{}", true),
        (of_its_own(4), 12, "{}", false),
        (of_its_own(6), 10, "{}", false),
        (of_its_own(4), 10, "{8}", true),
        (of_its_own(4), 10, "{7}", false),
        (of_its_own(3), 10, "{7}", true),
    ];
    for (id, xid, targets, expected) in cases {
        let sql = format!("select postrider.is_taken({id}, '{xid}', '{targets}')");
        assert_eq!(shop.ask::<bool>(&sql).await, expected, "{sql}");
    }
    let found: Value = shop
        .ask(
            "select jsonb_build_array(
                k.lanes #> '{lanes,54,lag,last}', k.lanes #> '{lanes,54,open}',
                k.lanes #> '{shards,3,tail,base}',
                (
                    select jsonb_agg(array[t.base::text, t.top::text, t.walked::text] order by t.lane)
                    from postrider.lane_tails() t
                    where t.lane in (48, 54)
                ))
            from postrider.known_lanes() k (lanes)",
        )
        .await;
    let tails = json!([["20:24:21", null, null], ["4:4:", "9:20:9,12", "5174"]]);
    assert_eq!(found, json!([5_174, [[4_150, 5_174]], "20:24:21", tails]));
}

/// Whoever may connect hears what is notified.
#[tokio::test]
async fn no_ordering_key_is_notified() {
    let shop = Shop::open_migrated().await;
    let said: i64 = shop.ask("select postrider.key_mark('s3cret-kéy')").await;
    assert_eq!(said, 4_109_051_786, "as in mark.rs of the core");
    let text: String = shop
        .ask("select string_agg(prosrc, '') from pg_proc where pronamespace = 'postrider'::regnamespace")
        .await;
    let notified: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("postrider.ring(") && line.contains("ordering_key"))
        .collect();
    assert!(!notified.is_empty());
    assert!(notified.iter().all(|line| line.contains("key_mark(")), "{notified:?}");
}
