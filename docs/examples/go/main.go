// Places an order and tells others about it, in one transaction:
//
//	DATABASE_URL=postgres://… go run . 1 lamp
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func place(ctx context.Context, conn *pgx.Conn, order int64, item string) (sent, published int64, err error) {
	payload := map[string]any{"order": order, "item": item}
	key := fmt.Sprintf("order %d", order)
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx,
			"insert into orders (id, item) values ($1, $2) on conflict (id) do nothing", order, item)
		if err != nil {
			return err
		}
		// One endpoint.
		err = tx.QueryRow(ctx, "select postrider.send($1, $2)", "warehouse", payload).Scan(&sent)
		if err != nil {
			return err
		}
		// All who subscribe to the event. Once for each order, however often this runs.
		return tx.QueryRow(ctx, `
			select postrider.publish($1, $2,
			    p_idempotency_key => $3,
			    p_ordering_key => $4,
			    p_priority => $5,
			    p_headers => $6,
			    p_expires_at => $7)`,
			"order.placed", payload, key, key, 5, map[string]string{"x-tenant": "acme"},
			time.Now().Add(time.Hour)).Scan(&published)
	})
	return sent, published, err
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: orders ORDER ITEM")
	}
	order, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	config, err := pgx.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	// Behind PgBouncer add: config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	ctx := context.Background()
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close(ctx)

	sent, published, err := place(ctx, conn, order, os.Args[2])
	var refusal *pgconn.PgError
	switch {
	case errors.As(err, &refusal) && refusal.Code == "53400":
		log.Fatal("too many messages wait; try again later")
	// A unique constraint of your own has a name.
	case errors.As(err, &refusal) && refusal.Code == "23505" && refusal.ConstraintName == "":
		log.Fatalf("order %d was placed with another item", order)
	case err != nil:
		log.Fatal(err)
	}
	fmt.Printf("order %d placed, messages %d and %d\n", order, sent, published)
}
