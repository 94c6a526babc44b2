select json_build_object(
    'endpoint_name', p.endpoint_name, 'rule', p.rule, 'policy', p.policy, 'attempt', p.attempt,
    'status', p.status, 'wait_ms', p.wait_ms, 'expected_at', p.expected_at)
from postrider.explain_policy($1::bigint) p;
