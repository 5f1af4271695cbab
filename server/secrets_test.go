package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/server"
)

// logBuffer records everything that is logged.
type logBuffer struct {
	mu  sync.Mutex // guards all
	all bytes.Buffer
}

func (e *logBuffer) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all.Write(b)
}

func (e *logBuffer) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all.String()
}

// TestSecretsOfKeysAreNowhere sends requests to all routes and gRPC methods with each API key, also for
// objects that do not exist. It then checks that no response, log line or file contains the secret of a
// key. Only the token's own file contains the server's token. The hash of a key does not work as a key.
func TestSecretsOfKeysAreNowhere(t *testing.T) {
	longtest.Skip(t, "seconds")
	logged := &logBuffer{}
	w := newWorld(t, func(c *server.Config) {
		c.Logger = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	w.keys["token"] = w.Token()
	w.keys["wrong"] = "prd_wrong-" + strings.Repeat("w", 22)
	conn := connect(t, w.Server)
	answers := map[string]string{}
	for who, key := range w.keys {
		for _, name := range slices.SortedFunc(maps.Keys(routes), last) {
			a := w.request(name, key, w.names)
			answers[name+" as "+who] = a.head + a.body
			a = w.request(name, key, w.strangeNames())
			answers[name+" of nothing as "+who] = a.head + a.body
		}
		for name, m := range methods(t) {
			said, err := w.call(conn, key, m, w.acmeFiller().requests(m)...)
			if err != nil {
				said += err.Error()
			}
			answers[name+" as "+who] = said
		}
		sum := sha256.Sum256([]byte(key))
		for _, hash := range []string{hex.EncodeToString(sum[:]), base64.RawURLEncoding.EncodeToString(sum[:])} {
			if a := w.ask(hash, "GET", "/v1/models", ""); a.status != 401 {
				t.Errorf("the hash of the key of %s is let in: %d", who, a.status)
			}
		}
	}
	for who, key := range w.keys {
		for what, said := range answers {
			if strings.Contains(said, key) {
				t.Errorf("the answer to %s holds the key of %s", what, who)
			}
		}
		if strings.Contains(logged.String(), key) {
			t.Errorf("the log holds the key of %s", who)
		}
		for _, file := range w.files() {
			raw, err := os.ReadFile(file)
			if err != nil {
				continue // a socket has no content
			}
			if bytes.Contains(raw, []byte(key)) && (who != "token" || filepath.Base(file) != "token") {
				t.Errorf("%s holds the key of %s", file, who)
			}
		}
	}
	if !strings.Contains(readAll(t, filepath.Join(w.Data, "perdure.db"))+readAll(t, filepath.Join(w.Data, "perdure.db-wal")), canary) {
		t.Error("not even what is there is found in the files")
	}
}

// TestSecretsOfSessionsAreNowhere checks that, after the sign-in, neither half of a session's secret is in
// a response, log line or file.
func TestSecretsOfSessionsAreNowhere(t *testing.T) {
	longtest.Skip(t, "seconds")
	logged := &logBuffer{}
	w := newWorld(t, func(c *server.Config) {
		c.Logger = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	b := w.signIn(w.keys["acme admin"])
	_, value, _ := strings.Cut(b.cookie, "=")
	var said strings.Builder
	for _, name := range guarded() {
		for _, headers := range [][]string{b.headers(), browser{cookie: b.cookie}.headers(), browser{half: b.half}.headers(), {"Cookie", b.cookie, "Sec-WebSocket-Protocol", "perdure, perdure.session." + b.half}} {
			a := w.asBrowser(name, append(headers, "Origin", "http://"+w.HTTPAddress())...)
			said.WriteString(a.head + a.body)
		}
	}
	for what, half := range map[string]string{"cookie's half": value, "page's half": b.half} {
		if strings.Contains(said.String(), half) {
			t.Errorf("an answer holds the %s", what)
		}
		if strings.Contains(logged.String(), half) {
			t.Errorf("the log holds the %s", what)
		}
		for _, file := range w.files() {
			if raw, err := os.ReadFile(file); err == nil && bytes.Contains(raw, []byte(half)) {
				t.Errorf("%s holds the %s", file, what)
			}
		}
	}
}

// TestSecretsOfWebhooksAreNowhere checks that a webhook's secret is only in the responses to the
// requests that create or rotate it. No other response, no log line and no file contains the secret
// or the key that the secret encodes.
func TestSecretsOfWebhooksAreNowhere(t *testing.T) {
	longtest.Skip(t, "seconds")
	logged := &logBuffer{}
	w := newWorld(t, func(c *server.Config) {
		c.Logger = slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	var made, rotated struct{ ID, Secret string }
	w.json("POST", "/api/orgs/acme/webhooks", `{"url":"https://127.0.0.1:1/x"}`, &made)
	w.json("POST", "/api/orgs/acme/webhooks/"+made.ID+"/rotate", "", &rotated)
	w.json("POST", "/api/orgs/acme/webhooks/"+made.ID+"/test", "", nil)
	var said strings.Builder
	for _, name := range guarded() {
		a := w.request(name, w.keys["acme admin"], w.names)
		said.WriteString(a.head + a.body)
	}
	for what, secret := range map[string]string{"first": made.Secret, "second": rotated.Secret} {
		text, ours := strings.CutPrefix(secret, "whsec_")
		key, err := base64.StdEncoding.DecodeString(text)
		if !ours || err != nil || len(key) != 32 {
			t.Fatalf("the %s secret is %q", what, secret)
		}
		if strings.Contains(said.String(), text) || strings.Contains(logged.String(), text) {
			t.Errorf("an answer or the log holds the %s secret", what)
		}
		for _, file := range w.files() {
			raw, err := os.ReadFile(file)
			if err == nil && (bytes.Contains(raw, []byte(text)) || bytes.Contains(raw, key)) {
				t.Errorf("%s holds the %s secret", file, what)
			}
		}
	}
}

func readAll(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(raw)
}

// files returns the files of the data directory.
func (w *world) files() (all []string) {
	w.Helper()
	w.must(filepath.Walk(w.Data, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			all = append(all, path)
		}
		return err
	}))
	return all
}
