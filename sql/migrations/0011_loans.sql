-- What a dispatcher lends of an endpoint's concurrency.

-- Of this endpoint's concurrency, the part of this shard is used by another dispatcher than the shard's owner. It
-- is over when the row is gone or the borrower's lease has run out. At most one row per endpoint and shard, and
-- only while messages wait for the endpoint.
create table postrider.loan (
    endpoint_id integer not null,
    shard smallint not null,
    borrower uuid not null,
    primary key (endpoint_id, shard)
);
