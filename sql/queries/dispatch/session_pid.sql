-- The server's process of this session.
select pg_backend_pid() as pid;
