-- Settings of the connection that makes commits durable, on top of dispatcher_session.sql: what it commits
-- waits for the disk, and for the standbys that synchronous_standby_names asks for.
set synchronous_commit = on;
