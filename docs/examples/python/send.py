"""Places an order and tells others about it, in one transaction:

    DATABASE_URL=postgres://… python3 send.py 1 lamp
"""

import os
import sys
from datetime import datetime, timedelta, timezone

import psycopg
from psycopg.types.json import Jsonb


def place(connection, order, item):
    payload = Jsonb({"order": order, "item": item})
    with connection.transaction():
        connection.execute(
            "insert into orders (id, item) values (%s, %s) on conflict (id) do nothing",
            (order, item),
        )
        # Once for each order, however often this runs within 24 hours (idempotency_window).
        key = f"order {order}"
        # One endpoint.
        sent = connection.execute(
            "select postrider.send_with_options(%s, %s, p_idempotency_key => %s)",
            ("warehouse", payload, key),
        ).fetchone()[0]
        # All who subscribe to the event.
        published = connection.execute(
            """
            select postrider.publish(%s, %s,
                p_idempotency_key => %s,
                p_ordering_key => %s,
                p_priority => %s,
                p_headers => %s,
                p_expires_at => %s)
            """,
            (
                "order.placed",
                payload,
                key,
                key,
                5,
                Jsonb({"x-tenant": "acme"}),
                datetime.now(timezone.utc) + timedelta(hours=1),
            ),
        ).fetchone()[0]
    return sent, published


def main():
    order, item = int(sys.argv[1]), sys.argv[2]
    # Without prepared statements it works behind PgBouncer, too.
    with psycopg.connect(
        os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=None
    ) as connection:
        try:
            sent, published = place(connection, order, item)
        except psycopg.errors.ConfigurationLimitExceeded:  # 53400
            sys.exit("too many messages wait; try again later")
        except psycopg.errors.UniqueViolation as error:  # 23505
            # A unique constraint of your own has a name.
            if error.diag.constraint_name is not None:
                raise
            sys.exit(f"order {order} was placed with another item")
    print(f"order {order} placed, messages {sent} and {published}")


main()
