-- Twenty events, each as a message for each of a hundred endpoints.
--   $1 jsonb: payload
select count(postrider.send('bench' || s.n, $1))
from generate_series(1, 20) e (n)
cross join generate_series(1, 100) s (n);
