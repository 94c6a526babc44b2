-- Messages that were erased (erase_messages): they stay where they are, and what was in them is gone.

-- When it was. In the log, which readers rely on, and in the copies of a message that others keep.
alter table postrider.message add column erased_at timestamptz;
alter table postrider.dead_letter add column erased_at timestamptz;
alter table postrider.parked_message add column erased_at timestamptz;

alter table postrider.job drop constraint job_kind_check;
alter table postrider.job
    -- erase: which metadata is meant. Not in the filter, which others may see.
    add column metadata jsonb check (jsonb_typeof(metadata) = 'object'),
    add constraint job_kind_check
    check (kind in ('drop', 'redrive', 'retry', 'fail', 'skip', 'cancel', 'erase'));
