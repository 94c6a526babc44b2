-- $1 jsonb: payload
select postrider.send('bench' || n, $1)
from generate_series(1, 100) s (n);
