-- Who may use the schema at all may read this. Index: none, one row, and a row per migration.
select
    i.product_version,
    i.fingerprint,
    (select max(m.version) from postrider.migration m) as latest_migration
from postrider.installation i;
