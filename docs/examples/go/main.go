// Places an order and tells others about it, in one transaction:
//
//	DATABASE_URL=postgres://… go run . 1 lamp
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/lib/pq"
)

func place(ctx context.Context, db *sql.DB, order int64, item string) (sent, published int64, err error) {
	payload, err := json.Marshal(map[string]any{"order": order, "item": item})
	if err != nil {
		return 0, 0, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return 0, 0, err
	}
	// Does nothing after the commit.
	defer tx.Rollback()
	_, err = tx.ExecContext(ctx,
		"insert into orders (id, item) values ($1, $2) on conflict (id) do nothing", order, item)
	if err != nil {
		return 0, 0, err
	}
	// Once for each order, however often this runs within 24 hours (idempotency_window).
	key := fmt.Sprintf("order %d", order)
	// One endpoint.
	err = tx.QueryRowContext(ctx,
		"select postrider.send_with_options($1, $2, p_idempotency_key => $3)",
		"warehouse", string(payload), key).Scan(&sent)
	if err != nil {
		return 0, 0, err
	}
	// All who subscribe to the event.
	err = tx.QueryRowContext(ctx, `
		select postrider.publish($1, $2,
		    p_idempotency_key => $3,
		    p_ordering_key => $4,
		    p_priority => $5,
		    p_headers => $6,
		    p_expires_at => $7)`,
		"order.placed", string(payload), key, key, 5, `{"x-tenant": "acme"}`,
		time.Now().Add(time.Hour)).Scan(&published)
	if err != nil {
		return 0, 0, err
	}
	return sent, published, tx.Commit()
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: orders ORDER ITEM")
	}
	order, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	sent, published, err := place(context.Background(), db, order, os.Args[2])
	var refusal *pq.Error
	switch {
	case errors.As(err, &refusal) && refusal.Code == "53400":
		log.Fatal("too many messages wait; try again later")
	// A unique constraint of your own has a name.
	case errors.As(err, &refusal) && refusal.Code == "23505" && refusal.Constraint == "":
		log.Fatalf("order %d was placed with another item", order)
	case err != nil:
		log.Fatal(err)
	}
	fmt.Printf("order %d placed, messages %d and %d\n", order, sent, published)
}
