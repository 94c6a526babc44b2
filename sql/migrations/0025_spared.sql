-- Recoveries that know which deliveries of a message were not attempted, and not only which messages. Callers of older
-- versions name fewer parameters, which would be ambiguous beside the former functions.
drop function if exists postrider.recover_messages(uuid, smallint[], bigint[], bigint[], boolean);
drop function if exists postrider.recover_claims(uuid, smallint[], bigint[], uuid, bigint[]);
