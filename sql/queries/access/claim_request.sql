select c.fingerprint, c.status, c.body
from postrider.claim_request($1::integer, $2::text, $3::bytea) c;
