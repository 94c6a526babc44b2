//! A message in the log cannot be changed, by anyone.

use crate::shop::{
    Shop, changing_the_log,
    producing::{check_refusal, check_refusals},
};
use tokio_postgres::Client;

/// A log with messages in several partitions: one that was there when it became unchangeable, one made
/// later, one attached that was a table of its own before.
async fn open() -> Shop {
    let shop = Shop::open_migrated().await;
    let sql = "select postrider.create_endpoint('a', 'discard', '{}');
        select postrider.send('a', '{}');
        create table postrider.message_later partition of postrider.message
            for values from ('2101-01-01') to ('2101-02-01');
        create table postrider.message_attached (like postrider.message including all);
        insert into postrider.message_attached
        select m.* from postrider.message m;
        update postrider.message_attached set created_at = '2102-01-02', id = id + (1 << 20);
        alter table postrider.message attach partition postrider.message_attached
            for values from ('2102-01-01') to ('2102-02-01');
        insert into postrider.message (id, xid, created_at, lane, priority, targets, endpoint_name, payload)
        select m.id + n, m.xid, at, m.lane, 0, m.targets, m.endpoint_name, '{}'
        from (select * from postrider.message order by id limit 1) m
        cross join (values (2 << 20, timestamptz '2101-01-02'), (3 << 20, '2001-01-01')) v (n, at)";
    shop.execute(sql).await;
    shop
}

async fn partitions(client: &Client) -> Vec<(String, i64)> {
    let sql =
        "select tableoid::regclass::text, min(id) from postrider.message group by 1 order by 1";
    let rows = client.query(sql, &[]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

fn refused(id: i64) -> String {
    format!("Message {id} cannot be changed: the log is append-only")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_update_changes_a_message_whoever_asks() {
    let shop = open().await;
    let client = shop.client().await;
    let partitions = partitions(&client).await;
    let names: Vec<&str> = partitions.iter().map(|(name, _)| name.as_str()).collect();
    for name in ["message_default", "message_later", "message_attached"] {
        assert!(names.contains(&&*format!("postrider.{name}")), "{names:?}");
    }
    // A superuser, and an owner who is none.
    let give = "create role plain;
        grant usage on schema postrider to plain;
        do $$
        declare
            part regclass;
        begin
            for part in
                select t.relid
                from pg_partition_tree('postrider.message') t
            loop
                execute format('alter table %s owner to plain', part);
            end loop;
        end;
        $$";
    for role in ["postgres", "plain"] {
        if role == "plain" {
            client.batch_execute(give).await.unwrap();
        }
        client.batch_execute(&format!("set role {role}")).await.unwrap();
        for (name, id) in &partitions {
            for table in ["postrider.message", name] {
                for change in ["payload = '{\"n\": 1}'", "xid = '3'", "headers = headers"] {
                    let sql = format!("update {table} set {change} where id = {id}");
                    check_refusal(&client, (&sql, "P0001", &refused(*id))).await;
                }
            }
        }
        client.batch_execute("reset role").await.unwrap();
    }
    // Where replication turns other triggers off.
    client.batch_execute("set session_replication_role = replica").await.unwrap();
    for (name, id) in &partitions {
        for table in ["postrider.message", name] {
            let sql = format!("update {table} set payload = '1' where id = {id}");
            check_refusal(&client, (&sql, "P0001", &refused(*id))).await;
        }
    }
    client.batch_execute("reset session_replication_role").await.unwrap();
    let upsert = "merge into postrider.message m
        using (select 1) o on true
        when matched then update set payload = '1'";
    let version: String = shop.ask("select current_setting('server_version_num')").await;
    if version.parse::<u32>().unwrap() >= 150_000 {
        assert!(client.batch_execute(upsert).await.is_err());
    }
    // Nothing of the session opens the door.
    let first = &partitions[0];
    let change = format!("update {} set payload = '1' where id = {}", first.0, first.1);
    for setting in ["postrider.log_change", "postrider.is_migrating", "postrider.installer"] {
        client.batch_execute(&format!("set {setting} = 'yes'")).await.unwrap();
        check_refusal(&client, (&change, "P0001", &refused(first.1))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_door_is_open_for_the_transaction_that_opens_it_and_nobody_else() {
    let shop = open().await;
    let (client, other) = (shop.client().await, shop.client().await);
    let id: i64 = shop.ask("select min(id) from postrider.message").await;
    let change = format!("update postrider.message set metadata = '{{\"n\": 1}}' where id = {id}");
    client
        .batch_execute("begin; insert into postrider.log_change default values; savepoint s")
        .await
        .unwrap();
    let text = refused(id);
    check_refusals(&other, &[(&change, "P0001", &text)]).await;
    client.batch_execute(&change).await.unwrap();
    client.batch_execute("delete from postrider.log_change; commit").await.unwrap();
    check_refusals(&client, &[(&change, "P0001", &text)]).await;
    client.batch_execute(&changing_the_log(&change)).await.unwrap();
    // One that was left there is of no use to anybody later.
    client.batch_execute("insert into postrider.log_change default values").await.unwrap();
    check_refusals(&client, &[(&change, "P0001", &text)]).await;

    for role in ["admin", "operator", "application", "producer", "consumer", "worker", "monitor"] {
        let sql =
            format!("set role postrider_{role}; insert into postrider.log_change default values");
        let error = other.batch_execute(&sql).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "42501", "{role}");
        other.batch_execute("reset role").await.unwrap();
    }
}

/// Maintenance deletes, moves and drops.
#[tokio::test(flavor = "multi_thread")]
async fn maintenance_goes_on() {
    let shop = open().await;
    let client = shop.client().await;
    let sql =
        "insert into postrider.message (id, xid, created_at, lane, priority, targets, payload)
        select m.id + (5 << 20), m.xid, now() + interval '2 years', m.lane, 0, '{}', '{}'
        from (select * from postrider.message order by id limit 1) m;
        alter table postrider.message detach partition postrider.message_later;
        update postrider.message_later set metadata = '{}';
        alter table postrider.message attach partition postrider.message_later
            for values from ('2101-01-01') to ('2101-02-01')";
    client.batch_execute(sql).await.unwrap();
    let made: i32 = client
        .query_one("select postrider.maintain_archive_partitions(30)", &[])
        .await
        .unwrap()
        .get(0);
    assert!(made > 0);
    for (name, id) in partitions(&client).await {
        let sql = format!("update {name} set payload = '1' where id = {id}");
        check_refusal(&client, (&sql, "P0001", &refused(id))).await;
    }
    let delete = "delete from postrider.message where created_at < '2002-01-01';
        truncate postrider.message_later;
        drop table postrider.message_attached";
    client.batch_execute(delete).await.unwrap();
}
