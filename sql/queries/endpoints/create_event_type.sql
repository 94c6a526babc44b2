-- $5: a retry policy that goes into the metadata, or null.
select postrider.create_event_type(
    $1::text, $2::text, $3::text::jsonb,
    case
        when $5::text is null then $4::text::jsonb
        else coalesce($4::text::jsonb, '{}')
            || jsonb_build_object('_retry_policy', $5::text::jsonb)
    end);
