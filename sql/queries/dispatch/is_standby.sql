-- Whether this server follows another one and cannot be written to.
select pg_is_in_recovery() as is_standby;
