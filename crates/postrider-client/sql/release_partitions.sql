-- The member leaves. $1 consumer, $2 member.
select postrider.release_partitions(p_consumer => $1, p_member => $2::uuid);
