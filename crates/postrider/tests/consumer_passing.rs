//! What a consumer does not want it passes, and nothing else.

use crate::shop::{
    Shop,
    consuming::fetch,
    producing::{id_of, pid_of, until_blocked},
};

/// The transaction that everybody with ordering `transaction` waits for ends between the look at what is
/// wanted and the passing of what is not.
#[tokio::test]
async fn nothing_is_passed_that_was_not_looked_at() {
    let shop = Shop::open_to_consumers().await;
    let (client, long, gate) = (shop.client().await, shop.client().await, shop.client().await);
    client
        .batch_execute(
            "select postrider.create_consumer('t', p_filter => '{\"n\": 1}',
                p_ordering => 'transaction');
            alter function postrider.consumer_messages rename to messages_of_consumer;
            create function postrider.consumer_messages(
                p_consumer postrider.consumer, p_partition integer, p_tick bigint, p_xid xid8,
                p_after_id bigint, p_to_tick bigint, p_look integer,
                p_span postrider.tick_span, p_to_xid xid8)
            returns table (tick bigint, id bigint, xid xid8, created_at timestamptz,
                scheduled_at timestamptz, correlation_id uuid, event_type text, ordering_key text,
                headers jsonb, metadata jsonb, payload jsonb, body bytea, content_type text)
            language plpgsql stable
            as $$
            begin
                perform pg_advisory_lock_shared(7);
                perform pg_advisory_unlock_shared(7);
                return query select m.* from postrider.messages_of_consumer(
                    p_consumer, p_partition, p_tick, p_xid, p_after_id, p_to_tick, p_look,
                    p_span, p_to_xid) m;
            end;
            $$",
        )
        .await
        .unwrap();
    // Without anything below the open transaction it would not look at all.
    client.batch_execute("select postrider.send('a', '{\"n\": 2}')").await.unwrap();
    long.batch_execute("begin; select pg_current_xact_id()").await.unwrap();
    let wanted = id_of(&client, "select postrider.send('a', '{\"n\": 1}')").await;
    let others = "select postrider.send_batch('a', array_fill('{\"n\": 2}'::jsonb, array[1000]))
        from generate_series(1, 11)";
    client.batch_execute(others).await.unwrap();

    gate.batch_execute("select pg_advisory_lock(7)").await.unwrap();
    let pid = pid_of(&client).await;
    let fetching = tokio::spawn(async move {
        let batch = fetch(&client, "t", 10).await;
        (client, batch)
    });
    until_blocked(&shop, pid).await;
    long.batch_execute("commit").await.unwrap();
    gate.batch_execute("select pg_advisory_unlock(7)").await.unwrap();
    let (client, mut batch) = fetching.await.unwrap();
    if batch.is_empty() {
        batch = fetch(&client, "t", 10).await;
    }
    assert_eq!(batch.iter().map(|message| message.id).collect::<Vec<_>>(), [wanted]);
}
