// Receives webhooks: verifies them, recognises repeats, and answers before it works.
//
// WEBHOOK_KEYS has the keys, whsec_… or whpk_…, separated by spaces: two while they are rotated. PORT is where it
// listens. With GONE=1 it wants no more webhooks, for good.
package main

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxBytes  = 1 << 20
	maxIDs    = 100_000
	tolerance = 5 * time.Minute
)

type key struct {
	secret []byte
	public ed25519.PublicKey
}

func parse(text string) (key, error) {
	kind, encoded, _ := strings.Cut(text, "_")
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err != nil:
		return key{}, err
	case kind == "whsec" && len(decoded) > 0:
		return key{secret: decoded}, nil
	case kind == "whpk" && len(decoded) == ed25519.PublicKeySize:
		return key{public: decoded}, nil
	}
	return key{}, fmt.Errorf("a key begins with whsec_ or whpk_")
}

func (k key) signed(content, signature []byte, version string) bool {
	if k.public != nil {
		return version == "v1a" && ed25519.Verify(k.public, content, signature)
	}
	code := hmac.New(sha256.New, k.secret)
	code.Write(content)
	return version == "v1" && hmac.Equal(code.Sum(nil), signature)
}

// Whether one of our keys signed it, not more than five minutes ago.
func isGenuine(keys []key, header http.Header, body []byte) bool {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if id == "" || err != nil {
		return false
	}
	if age := time.Since(time.Unix(seconds, 0)); age > tolerance || age < -tolerance {
		return false
	}
	content := append([]byte(id+"."+timestamp+"."), body...)
	for _, part := range strings.Split(header.Get("webhook-signature"), " ") {
		version, encoded, _ := strings.Cut(part, ",")
		signature, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			continue
		}
		for _, key := range keys {
			if key.signed(content, signature, version) {
				return true
			}
		}
	}
	return false
}

// In a service with a database: insert the id into a table, in the transaction that stores the message.
type memory struct {
	sync.Mutex
	seen  map[string]bool
	order []string
}

func (m *memory) isNew(id string) bool {
	m.Lock()
	defer m.Unlock()
	if m.seen[id] {
		return false
	}
	m.seen[id] = true
	m.order = append(m.order, id)
	if len(m.order) > maxIDs {
		delete(m.seen, m.order[0])
		m.order = m.order[1:]
	}
	return true
}

func main() {
	var keys []key
	for _, text := range strings.Fields(os.Getenv("WEBHOOK_KEYS")) {
		key, err := parse(text)
		if err != nil {
			log.Fatal("WEBHOOK_KEYS: ", err)
		}
		keys = append(keys, key)
	}
	isGone := os.Getenv("GONE") == "1"
	ids := &memory{seen: map[string]bool{}}
	work := make(chan string, 1000)
	go func() {
		for line := range work {
			fmt.Println(line)
		}
	}()
	receive := func(w http.ResponseWriter, r *http.Request) {
		// The bytes as they came: JSON that was read and written again is another text.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBytes))
		switch id := r.Header.Get("webhook-id"); {
		case err != nil:
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		case isGone:
			w.WriteHeader(http.StatusGone)
		case !isGenuine(keys, r.Header, body):
			w.WriteHeader(http.StatusUnauthorized)
		default:
			if ids.isNew(id) {
				work <- fmt.Sprintf("received %s %s", id, body)
			}
			w.WriteHeader(http.StatusNoContent)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening")
	log.Fatal(http.Serve(listener, http.HandlerFunc(receive)))
}
