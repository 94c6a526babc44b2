-- Index: none, one row, and a row per migration.
select
    i.product_version,
    i.fingerprint,
    (select max(m.version) from postrider.migration m) as latest_migration,
    postrider.shard_count() as shard_count
from postrider.installation i;
