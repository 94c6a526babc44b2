-- Many events, all or nothing. $1 the events without their times; then, one element for each event,
-- $2 scheduled at, $3 scheduled in, $4 expires at, $5 expires in, as in send.sql.
select postrider.publish_batch(coalesce(
    jsonb_agg(
        e.event || jsonb_strip_nulls(jsonb_build_object(
            'scheduled_at', coalesce(
                timestamptz 'epoch' + t.scheduled_at * interval '1 microsecond',
                clock_timestamp() + t.scheduled_in * interval '1 microsecond'),
            'expires_at', coalesce(
                timestamptz 'epoch' + t.expires_at * interval '1 microsecond',
                clock_timestamp() + t.expires_in * interval '1 microsecond')
        ))
        order by e.place
    ), '[]'))
from jsonb_array_elements($1::jsonb) with ordinality e (event, place)
join unnest($2, $3, $4, $5) with ordinality
    t (scheduled_at, scheduled_in, expires_at, expires_in, place) on t.place = e.place;
