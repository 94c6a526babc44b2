-- What an operator may say of endpoints and deliveries when something hangs.

-- Paused by pause_all and not by itself: what resume_all resumes.
alter table postrider.endpoints
    add column is_paused_with_all boolean not null default false,
    add constraint endpoints_paused_with_all check (paused or not is_paused_with_all);

-- A delivery that an operator has ended without a dead letter (skip_delivery) is `skipped`, and says why.
alter table postrider.ended drop constraint ended_reason_check;
alter table postrider.ended
    add column note text,
    add constraint ended_reason_check check (reason in ('expired', 'cancelled', 'failed', 'skipped')),
    add constraint ended_note_check check (note is null or reason = 'skipped');
alter table postrider.replay drop constraint replay_status_check;
alter table postrider.replay
    add constraint replay_status_check
    check (status in ('completed', 'failed', 'expired', 'cancelled', 'skipped'));

-- More verbs over many rows. retry, fail, skip: deliveries that wait. cancel: what was sent to an endpoint.
alter table postrider.job drop constraint job_kind_check;
alter table postrider.job
    -- Who made it: what was changed by later transactions has changed since.
    add column xid xid8 not null default pg_current_xact_id(),
    add constraint job_kind_check
    check (kind in ('drop', 'redrive', 'retry', 'fail', 'skip', 'cancel'));
