-- The step after everything is installed: what has to exist before the first message, and who we are.
do $do$
declare
    requested text := nullif(current_setting('postrider.shard_count'), '');
begin
    if requested::integer <> postrider.shard_count() then
        raise exception
            'database "%" was installed with % shards, which cannot be changed; % were asked for',
            current_database(), postrider.shard_count(), requested using errcode = '55000';
    end if;
    perform postrider.make_partitions(postrider.partition_months_ahead());
    perform postrider.update_gate();
end;
$do$;

insert into postrider.installation (product_version, fingerprint)
values ('{{product_version}}', '{{fingerprint}}')
on conflict (singleton) do update
set product_version = excluded.product_version,
    fingerprint = excluded.fingerprint,
    migrated_at = now();
