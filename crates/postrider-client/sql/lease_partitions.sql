-- Which partitions this member shall read now. $1 consumer, $2 member, $3 lease in microseconds.
select postrider.lease_partitions(
    p_consumer => $1, p_member => $2::uuid, p_lease => $3 * interval '1 microsecond');
