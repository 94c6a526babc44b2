//! Leases of a consumer's partitions: shared fairly among live members, kept as long as that is fair, and
//! never in two live leases.

use std::collections::BTreeMap;

use crate::shop::{
    Shop,
    producing::{check_refusal, check_refusals, pid_of},
};
use tokio_postgres::Client;

async fn open(partitions: i32) -> (Shop, Client) {
    let shop = Shop::open_migrated().await;
    shop.execute(&format!("select postrider.create_consumer('c', p_partitions => {partitions})"))
        .await;
    let client = shop.client().await;
    (shop, client)
}

fn member(n: u32) -> String {
    format!("00000000-0000-0000-0000-{n:012}")
}

/// Joins or renews.
async fn lease_for(client: &Client, n: u32, lease: &str) -> Vec<i32> {
    let sql = format!("select postrider.lease_partitions('c', '{}', '{lease}')", member(n));
    client.query_one(&sql, &[]).await.unwrap_or_else(|error| panic!("{error:?}")).get(0)
}

async fn lease(client: &Client, n: u32) -> Vec<i32> {
    lease_for(client, n, "1 hour").await
}

async fn release(client: &Client, n: u32) -> bool {
    let sql = format!("select postrider.release_partitions('c', '{}')", member(n));
    client.query_one(&sql, &[]).await.unwrap().get(0)
}

/// Partitions that are in two live leases.
const SHARED: &str = "select exists (
        select
        from postrider.newest_leases((select id from postrider.consumer)) l,
            unnest(l.partitions) p (partition)
        where l.lease_until > clock_timestamp()
        group by p.partition
        having count(*) > 1)";

/// Each renews twice, in turn; returns what each has then.
async fn settle(shop: &Shop, client: &Client, members: &[u32]) -> BTreeMap<u32, Vec<i32>> {
    let mut leased = BTreeMap::new();
    for _ in 0..2 {
        for n in members {
            leased.insert(*n, lease(client, *n).await);
            assert!(!shop.ask::<bool>(SHARED).await, "after a renewal of {n}: {leased:?}");
        }
    }
    leased
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_balanced_and_stay_where_they_are() {
    let (shop, client) = open(8).await;
    let mut before: BTreeMap<u32, Vec<i32>> = BTreeMap::new();
    // Members join one by one, and leave: the first, one in the middle, and so on.
    let steps: [&[u32]; 8] = [
        &[1],
        &[1, 2],
        &[1, 2, 3],
        &[1, 2, 3, 4],
        &[1, 2, 3, 4, 5],
        &[2, 3, 4, 5],
        &[2, 4, 5],
        &[4],
    ];
    for members in steps {
        for gone in before.keys().filter(|n| !members.contains(n)) {
            assert!(release(&client, *gone).await);
            assert!(!release(&client, *gone).await);
        }
        let leased = settle(&shop, &client, members).await;
        let mut all: Vec<i32> = leased.values().flatten().copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..8).collect::<Vec<_>>(), "{leased:?}");
        let even = 8 / members.len();
        for (n, partitions) in &leased {
            let count = partitions.len();
            assert!((even..=8usize.div_ceil(members.len())).contains(&count), "{leased:?}");
            // Nothing goes from one to another that both could have kept.
            let Some(had) = before.get(n) else { continue };
            let kept = partitions.iter().filter(|p| had.contains(p)).count();
            assert_eq!(kept, had.len().min(count), "{before:?} to {leased:?}");
        }
        assert_eq!(settle(&shop, &client, members).await, leased, "and there they stay");
        before = leased;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_surplus_is_given_up_at_the_next_renewal_and_not_before() {
    let (_shop, client) = open(4).await;
    assert_eq!(lease(&client, 1).await, [0, 1, 2, 3]);
    assert_eq!(lease(&client, 2).await, [] as [i32; 0]);
    assert_eq!(lease(&client, 2).await, [] as [i32; 0]);
    assert_eq!(lease(&client, 1).await, [0, 1]);
    assert_eq!(lease(&client, 2).await, [2, 3]);
    // What is free is taken by whoever has less than a share.
    assert!(release(&client, 1).await);
    assert_eq!(lease(&client, 3).await, [0, 1]);
    assert_eq!(lease(&client, 2).await, [2, 3]);
    assert!(release(&client, 3).await);
    assert_eq!(lease(&client, 2).await, [0, 1, 2, 3]);
    assert!(!release(&client, 9).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn members_without_a_partition_wait_for_one() {
    let (_shop, client) = open(1).await;
    assert_eq!(lease(&client, 1).await, [0]);
    for n in [2, 3, 2, 3] {
        assert_eq!(lease(&client, n).await, [] as [i32; 0]);
    }
    assert_eq!(lease(&client, 1).await, [0]);
    assert!(release(&client, 1).await);
    assert_eq!(lease(&client, 3).await, [0]);
    assert_eq!(lease(&client, 2).await, [] as [i32; 0]);
    assert_eq!(lease(&client, 1).await, [] as [i32; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_has_run_out_is_gone() {
    let (shop, client) = open(3).await;
    assert_eq!(lease(&client, 1).await, [0, 1, 2]);
    let joined = "select joined_at::text from postrider.newest_leases(1) where member = '00000000-0000-0000-0000-000000000001'";
    let first: String = shop.ask(joined).await;
    assert_eq!(lease_for(&client, 1, "1 second").await, [0, 1, 2]);
    assert_eq!(shop.ask::<String>(joined).await, first);
    shop.until(
        "select bool_and(l.lease_until <= clock_timestamp()) from postrider.consumer_lease l",
    )
    .await;
    assert!(!release(&client, 1).await, "there is nothing to release");
    assert_eq!(lease(&client, 2).await, [0, 1, 2]);
    // It comes back as a new member.
    assert_eq!(lease(&client, 1).await, [] as [i32; 0]);
    assert_ne!(shop.ask::<String>(joined).await, first);
    assert!(!shop.ask::<bool>(SHARED).await);
    assert_eq!(lease(&client, 2).await, [0, 1]);
    assert_eq!(lease(&client, 1).await, [2]);

    // Who was away for a moment gets back what it had, if nobody has taken it.
    shop.execute(
        "insert into postrider.consumer_lease (
            consumer_id, member, partitions, lease_until, joined_at)
        select l.consumer_id, l.member, l.partitions, clock_timestamp(), l.joined_at
        from postrider.newest_leases(1) l",
    )
    .await;
    assert_eq!(lease(&client, 3).await, [0, 1, 2]);
    shop.execute(
        "insert into postrider.consumer_lease (
            consumer_id, member, partitions, lease_until, joined_at)
        select l.consumer_id, l.member, '{2}', clock_timestamp(), l.joined_at
        from postrider.newest_leases(1) l",
    )
    .await;
    let other = format!(
        "insert into postrider.consumer_lease (
            consumer_id, member, partitions, lease_until, joined_at)
        values (1, '{}', '{{1}}', clock_timestamp() + interval '1 minute', now())",
        member(4)
    );
    shop.execute(&other).await;
    assert_eq!(lease(&client, 3).await, [0, 2]);
}

/// Many at once, each on a connection of its own, joining, renewing and leaving.
#[tokio::test(flavor = "multi_thread")]
async fn racing_members_never_share_a_partition() {
    let (shop, client) = open(8).await;
    // Of each member only the newest row is kept.
    shop.execute(
        "create table public.granted as table postrider.consumer_lease with no data;
        create function public.note_grant() returns trigger language plpgsql security definer as
            'begin insert into public.granted select new.*; return null; end';
        create trigger note_grant after insert on postrider.consumer_lease
            for each row execute function public.note_grant()",
    )
    .await;
    let mut tasks = Vec::new();
    for n in 1..=4 {
        let client = shop.client().await;
        tasks.push(tokio::spawn(async move {
            for round in 0..25 {
                lease(&client, n).await;
                if round % 5 == n {
                    release(&client, n).await;
                }
            }
            lease(&client, n).await;
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    // All that was ever granted, by the order in which it was: a grant holds until its member's next row.
    let shared = "select count(*)
        from public.granted l
        cross join unnest(l.partitions) p (partition)
        join public.granted o
        on o.member <> l.member and o.seq > l.seq and p.partition = any (o.partitions)
        where not exists (
            select
            from public.granted n
            where n.member = l.member and n.seq > l.seq and n.seq < o.seq)";
    assert_eq!(shop.ask::<i64>(shared).await, 0);
    assert!(shop.ask::<i64>("select count(*) from public.granted").await >= 104);
    let leased = settle(&shop, &client, &[1, 2, 3, 4]).await;
    assert!(leased.values().all(|partitions| partitions.len() == 2), "{leased:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_does_not_lock_and_a_lock_needs_no_lease() {
    let (shop, client) = open(2).await;
    shop.execute("select postrider.create_endpoint('a', 'discard', '{}')").await;
    shop.execute(
        "select postrider.send_batch('a', array_agg(to_jsonb(n))) from generate_series(1, 20) n",
    )
    .await;
    shop.execute("select postrider.tick()").await;
    let fetch = "select count(*) from postrider.fetch_messages('c', p_partition => 0)";
    assert_eq!(lease_for(&client, 1, "1 second").await, [0, 1]);
    // Without a lease, while another has it.
    assert_eq!(shop.ask::<i64>(fetch).await, 10);
    // A member whose lease has run out keeps what it reads to the end of its transaction.
    client.batch_execute(&format!("begin; {fetch}")).await.unwrap();
    shop.until(
        "select bool_and(l.lease_until <= clock_timestamp()) from postrider.consumer_lease l",
    )
    .await;
    let other = shop.client().await;
    assert_eq!(lease(&other, 2).await, [0, 1]);
    assert_eq!(shop.ask::<i64>(fetch).await, 0);
    client.batch_execute("commit").await.unwrap();
    assert_eq!(shop.ask::<i64>(fetch).await, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_has_bounds() {
    let (shop, client) = open(2).await;
    let id = member(1);
    let call = |lease: &str| format!("select postrider.lease_partitions('c', '{id}', {lease})");
    let text = |lease: &str| format!("p_lease must be between 1 second and 1 hour, got {lease}");
    check_refusals(
        &client,
        &[
            (&call("'999 ms'"), "22023", &text("00:00:00.999")),
            (&call("'01:00:00.001'"), "22023", &text("01:00:00.001")),
            (&call("null"), "22023", &text("null")),
            ("select postrider.lease_partitions('c', null)", "22004", "p_member must not be null"),
            (
                "select postrider.release_partitions('c', null)",
                "22004",
                "p_member must not be null",
            ),
            (
                "select postrider.lease_partitions(null, gen_random_uuid())",
                "22004",
                "Consumer name must not be null",
            ),
            (
                "select postrider.lease_partitions('x', gen_random_uuid())",
                "42704",
                "Consumer 'x' does not exist",
            ),
            (
                "select postrider.release_partitions('x', gen_random_uuid())",
                "42704",
                "Consumer 'x' does not exist",
            ),
        ],
    )
    .await;
    client.batch_execute("begin isolation level repeatable read").await.unwrap();
    let text =
        "leases need a transaction with isolation level READ COMMITTED, this is REPEATABLE READ";
    check_refusal(
        &client,
        (&call("default_lease").replace("default_lease", "'1 s'"), "25001", text),
    )
    .await;
    client.batch_execute("rollback").await.unwrap();

    // Somebody who does not end a transaction is not waited for for ever.
    client.batch_execute(&format!("begin; {}", call("'1 s'"))).await.unwrap();
    let other = shop.client().await;
    let text = "Leases of consumer 'c' are held by another transaction";
    check_refusal(&other, (&call("'1 s'"), "55006", text)).await;
    client.batch_execute("rollback").await.unwrap();
    assert_eq!(lease_for(&other, 1, "1 hour").await, [0, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_that_count_are_kept() {
    let (shop, client) = open(2).await;
    let forget = "select postrider.forget_consumer_rows()";
    let count = "select count(*) from postrider.consumer_lease";
    for _ in 0..5 {
        assert_eq!(lease(&client, 1).await, [0, 1]);
    }
    client.batch_execute(forget).await.unwrap();
    assert_eq!(shop.ask::<i64>(count).await, 1);
    assert_eq!(lease(&client, 2).await, [] as [i32; 0]);

    // A long lease that has been given up does not come to life again.
    assert!(release(&client, 1).await);
    client.batch_execute(forget).await.unwrap();
    assert_eq!(shop.ask::<i64>(count).await, 2);
    assert_eq!(lease(&client, 2).await, [0, 1]);

    // Nor when the next member takes away what has run out.
    let given_up = format!(
        "insert into postrider.consumer_lease (
            consumer_id, member, partitions, lease_until, joined_at)
        select c.id, '{}', l.partitions, clock_timestamp() + l.rest, now()
        from postrider.consumer c
        cross join (values ('{{1}}'::smallint[], interval '1 hour'), ('{{}}', '-11 minutes')) l (partitions, rest)",
        member(7)
    );
    client.batch_execute(&given_up).await.unwrap();
    for _ in 0..2 {
        assert_eq!(lease(&client, 2).await, [0, 1]);
    }
    assert_eq!(shop.ask::<i64>(count).await, 4);

    // What ran out goes after a while.
    let later = "update postrider.consumer_lease
        set lease_until = clock_timestamp() - interval '11 minutes'";
    client.batch_execute(later).await.unwrap();
    client.batch_execute(forget).await.unwrap();
    assert_eq!(shop.ask::<i64>(count).await, 0);
    assert_eq!(lease(&client, 3).await, [0, 1]);
}

/// What members are called can be read; the role that took the lease cannot be guessed.
#[tokio::test(flavor = "multi_thread")]
async fn a_lease_belongs_to_the_role_that_took_it() {
    let (shop, client) = open(2).await;
    let sql = "create role one login in role postrider_consumer;
        create role two login in role postrider_consumer;
        create role boss login in role postrider_admin;
        create role deputy login in role one;
        create role pooler login in role one, two";
    client.batch_execute(sql).await.unwrap();
    let one = shop.postgres.connect_as("one", "shop").await.unwrap();
    let two = shop.postgres.connect_as("two", "shop").await.unwrap();
    let boss = shop.postgres.connect_as("boss", "shop").await.unwrap();
    let pooler = shop.postgres.connect_as("pooler", "shop").await.unwrap();
    pooler.batch_execute("set role two").await.unwrap();
    assert_eq!(lease(&one, 1).await, [0, 1]);
    let (id, newest) = (member(1), "select max(seq) from postrider.consumer_lease");
    let before: i64 = shop.ask(newest).await;
    let calls = [
        format!("select postrider.lease_partitions('c', '{id}')"),
        format!("select postrider.release_partitions('c', '{id}')"),
    ];
    for (stranger, acting) in [(&two, "two"), (&boss, "boss"), (&pooler, "two")] {
        let text = format!(
            "The lease of member {id} of consumer 'c' was taken by role \"one\", not by \"{acting}\""
        );
        for call in &calls {
            check_refusal(stranger, (call, "42501", &text)).await;
        }
    }
    assert_eq!(shop.ask::<i64>(newest).await, before, "nothing was changed");

    // Who has the role's rights acts for it, and does not take it away.
    let deputy = shop.postgres.connect_as("deputy", "shop").await.unwrap();
    pooler.batch_execute("set role one").await.unwrap();
    for helper in [&deputy, &pooler] {
        assert_eq!(lease(helper, 1).await, [0, 1]);
    }
    assert_eq!(lease(&one, 1).await, [0, 1]);
    assert!(release(&deputy, 1).await);
    // What nobody has is anybody's: given up, run out, or taken before roles were noted.
    assert_eq!(lease(&two, 1).await, [0, 1]);
    shop.execute("update postrider.consumer_lease set lease_until = clock_timestamp()").await;
    assert_eq!(lease(&one, 1).await, [0, 1]);
    shop.execute("update postrider.consumer_lease set leased_by = null").await;
    assert_eq!(lease(&two, 1).await, [0, 1]);
    check_refusal(
        &one,
        (
            &calls[1],
            "42501",
            &format!(
                "The lease of member {id} of consumer 'c' was taken by role \"two\", not by \"one\""
            ),
        ),
    )
    .await;
}

/// Whose it is, is judged when nobody else can change it any more.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_roles_that_take_a_lease_at_the_same_time_one_has_it() {
    let (shop, client) = open(2).await;
    let sql = "create role one login in role postrider_consumer;
        create role two login in role postrider_consumer";
    client.batch_execute(sql).await.unwrap();
    for (n, end) in [(1, "commit"), (2, "rollback")] {
        let one = shop.postgres.connect_as("one", "shop").await.unwrap();
        let two = shop.postgres.connect_as("two", "shop").await.unwrap();
        let pid = pid_of(&two).await;
        one.batch_execute("begin").await.unwrap();
        lease(&one, n).await;
        let call = format!("select postrider.lease_partitions('c', '{}')", member(n));
        let waiting = tokio::spawn(async move { two.query_one(&call, &[]).await });
        // It has begun, and tries to get the leases to itself.
        shop.until(&format!(
            "select exists (select from pg_stat_activity a where a.pid = {pid} and a.wait_event = 'PgSleep')"
        ))
        .await;
        one.batch_execute(end).await.unwrap();
        let answer = waiting.await.unwrap();
        match end {
            "commit" => assert_eq!(answer.unwrap_err().code().unwrap().code(), "42501"),
            _ => drop(answer.unwrap()),
        }
    }
}
