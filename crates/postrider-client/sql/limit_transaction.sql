-- The limits of this transaction. $1 how long it may idle, $2 how long a statement may take, as
-- PostgreSQL writes intervals of time.
--
-- To the end of the transaction only: a pooler may hand the session to others.
select
    set_config('idle_in_transaction_session_timeout', $1, true),
    set_config('statement_timeout', $2, true);
