package engine

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/store"
)

// limited creates an API key with limits, and returns it with a context for its requests.
func (b *bench) limited(l perdure.KeyLimits) (*perdure.APIKey, context.Context) {
	b.Helper()
	k, _, err := b.e.NewKey(b.Context(), org, tenants.KeyRequest{Name: "shop", Role: perdure.KeyClient, Limits: l})
	b.must(err)
	return k, store.By(b.Context(), perdure.Actor{KeyID: &k.ID, Name: k.Name})
}

func (b *bench) wantLimited(err error, words ...string) {
	b.Helper()
	var coded *perdure.Error
	if !errors.As(err, &coded) || coded.Code != perdure.RateLimited || coded.RetryAfter <= 0 {
		b.Fatalf("it gave %v, want rate_limited with a pause", err)
	}
	for _, word := range words {
		if !strings.Contains(coded.Message, word) {
			b.Errorf("the error does not say %q: %s", word, coded.Message)
		}
	}
}

// TestRunningExecutionsOfAKeyAreBounded checks that concurrent starts never exceed an API key's
// limit of running executions. An execution that waits for a message or has ended does not count. A
// repeat of an accepted start or message succeeds.
func TestRunningExecutionsOfAKeyAreBounded(t *testing.T) {
	b := newBench(t)
	_, ctx := b.limited(perdure.KeyLimits{MaxRunning: 3})
	var (
		group sync.WaitGroup
		mu    sync.Mutex // guards let
		let   int
	)
	for range 12 {
		group.Go(func() {
			_, err := b.e.Start(ctx, org, StartRequest{Kind: "agent"})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				let++
			} else if !perdure.IsCode(err, perdure.RateLimited) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if let != 3 {
		t.Fatalf("%d executions were let in, want 3", let)
	}
	start := func() error {
		_, err := b.e.Start(ctx, org, StartRequest{Kind: "agent", IdempotencyKey: "once"})
		return err
	}
	b.wantLimited(start(), "3 executions", "3 may be", "--max-running")
	b.start() // without a key, or with another one, there is room

	idle := b.claimOf(1)
	idle.suspend(perdure.Wait{Signal: "userMessage"})
	b.must(start())
	b.must(start()) // one more start exceeds the key's limit
	_, err := b.message(idle.id, SignalRequest{ID: "m"}, "hi")
	b.wantLimited(err, "--max-running")
	if x := b.execution(idle.id); x.Status != perdure.StatusWaiting || b.count(x.ID, perdure.EventSignal) != 0 {
		t.Errorf("the refused message left the execution %s", x.Status)
	}
	b.signal(idle.id, "other", "o") // this signal does not wake the execution
	ended := b.claimOf(1)
	ended.commit(func(c *perdure.Commit) { c.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete} })
	_, err = b.message(idle.id, SignalRequest{ID: "m"}, "hi")
	b.must(err)
	_, err = b.message(idle.id, SignalRequest{ID: "m"}, "hi")
	b.must(err)
}

// TestStoredBytesOfAKeyAreBounded checks that an API key's limit of stored bytes applies to starts,
// signals and uploads, but not to the commits of a running execution.
func TestStoredBytesOfAKeyAreBounded(t *testing.T) {
	b := newBench(t)
	_, ctx := b.limited(perdure.KeyLimits{MaxStored: 100_000})
	input := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }
	x, err := b.e.Start(ctx, org, StartRequest{Kind: "agent", Input: input(60_000)})
	b.must(err)
	_, err = b.e.Start(ctx, org, StartRequest{Kind: "agent", Input: input(50_000)})
	b.wantLimited(err, "50000 more", "100000 may be", "--max-stored")
	_, err = b.e.Signal(b.Context(), org, x.ID, SignalRequest{Name: "s", Value: input(50_000)})
	b.wantLimited(err, "--max-stored")
	_, err = b.e.PutContent(b.Context(), org, x.ID, 50_000, strings.NewReader(string(input(50_000))))
	b.wantLimited(err, "--max-stored")
	h := b.claim()
	h.commit(func(c *perdure.Commit) {
		c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Payload{Bytes: input(50_000)}}
	})
	h.commit(func(c *perdure.Commit) {
		c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Payload{Bytes: input(1000)}}
	})
	_, err = b.e.Start(ctx, org, StartRequest{Kind: "agent"})
	b.wantLimited(err, "--max-stored")
}

// TestLimitsOfAKeyAreChanged checks that new limits of an API key apply at once. The limits of
// another org's key or of a revoked key cannot be changed.
func TestLimitsOfAKeyAreChanged(t *testing.T) {
	b := newBench(t)
	k, ctx := b.limited(perdure.KeyLimits{MaxRunning: 1})
	start := func() error {
		_, err := b.e.Start(ctx, org, StartRequest{Kind: "agent"})
		return err
	}
	set := func(org string, n int64) error {
		_, err := b.e.SetKeyLimits(b.Context(), org, k.ID, func(l *perdure.KeyLimits) { l.MaxRunning = n })
		return err
	}
	b.must(start())
	b.wantLimited(start())
	b.must(set(org, 2))
	b.must(start())
	b.wantLimited(start())
	b.must(set(org, 0))
	b.must(start())
	b.wantCode(set("globex", 1), perdure.NotFound)
	b.wantCode(set(org, -1), perdure.InvalidArgument)
	_, err := b.e.RevokeKey(b.Context(), org, k.ID)
	b.must(err)
	b.wantCode(set(org, 1), perdure.Conflict)
}

// TestChangesAreInTheAuditLog checks that each change of API keys, definitions and retention writes
// an audit record that names who made the change. Refused or repeated requests write none. The log
// does not contain the key's secret.
func TestChangesAreInTheAuditLog(t *testing.T) {
	b := newBench(t)
	key := uuid.New()
	admin := perdure.Actor{KeyID: &key, Name: "boss", RequestID: "r1", RemoteAddress: "192.0.2.1:5"}
	ctx := store.By(b.Context(), admin)
	k, secret, err := b.e.NewKey(ctx, org, tenants.KeyRequest{Name: "shop", Role: perdure.KeyClient})
	b.must(err)
	change := func(l *perdure.KeyLimits) { l.MaxRunning = 3 }
	for range 2 {
		_, err = b.e.SetKeyLimits(ctx, org, k.ID, change)
		b.must(err)
	}
	d := perdure.Definition{Name: "D", Slug: "d", Models: []perdure.ModelConfig{{Provider: "scripted", ModelID: "m"}}}
	made, err := b.e.Definitions.Create(ctx, org, d)
	b.must(err)
	d.ID, d.SystemPrompt = made.ID, "other"
	_, err = b.e.Definitions.Update(ctx, org, d, 0)
	b.must(err)
	_, err = b.e.Definitions.Update(ctx, org, d, 77)
	b.wantCode(err, perdure.Conflict)
	b.must(b.e.Definitions.Delete(ctx, org, made.ID))
	_, err = b.e.SetRetention(b.Context(), org, perdure.Retention{})
	b.must(err)
	for range 2 {
		_, err = b.e.RevokeKey(ctx, org, k.ID)
		b.must(err)
	}
	page, err := b.s.AuditLog(b.Context(), org, "", 100)
	b.must(err)
	want := []perdure.AuditAction{
		perdure.AuditKeyRevoked, perdure.AuditRetentionChanged, perdure.AuditDefinitionDeleted, perdure.AuditDefinitionChanged,
		perdure.AuditDefinitionCreated, perdure.AuditKeyChanged, perdure.AuditKeyCreated,
	}
	if len(page.Items) != len(want) {
		t.Fatalf("there are %d records, want %d: %+v", len(page.Items), len(want), page.Items)
	}
	for i, r := range page.Items {
		if r.Action != want[i] {
			t.Errorf("record %d is %s, want %s", i, r.Action, want[i])
		}
		if by := r.Actor; r.Action == perdure.AuditRetentionChanged && by.Name != "process" || r.Action != perdure.AuditRetentionChanged && by.Name != "boss" {
			t.Errorf("%s was made by %+v", r.Action, by)
		}
	}
	// Each audit record has the hashes of the row before and after its change: the hash after one
	// change equals the hash before the next one.
	for _, pair := range [][2]int{{6, 5}, {5, 0}, {4, 3}, {3, 2}} {
		if first, next := page.Items[pair[0]], page.Items[pair[1]]; first.After == "" || first.After != next.Before {
			t.Errorf("%s left %q, and %s found %q", first.Action, first.After, next.Action, next.Before)
		}
	}
	raw, err := json.Marshal(page.Items)
	b.must(err)
	if strings.Contains(string(raw), secret) || strings.Contains(string(raw), k.Hash.String()) {
		t.Error("the log holds the secret or its hash")
	}
}
