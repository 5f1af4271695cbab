package storetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var quotaTests = map[string]func(*fixture){
	"limits of a key hold, however many come at once":      quotaExact,
	"an idle or ended execution does not count as at work": quotaAtWork,
	"bytes are counted until they are deleted":             quotaStored,
	"a key without limits is not counted":                  quotaNone,
	"a line of the audit log comes back":                   auditFields,
}

// limited creates an API key with limits.
func (f *fixture) limited(l perdure.KeyLimits) uuid.UUID {
	f.Helper()
	id := uuid.New()
	k := perdure.APIKey{ID: id, Org: org, Name: "limited", Role: perdure.KeyClient, Hash: sha256.Sum256(id[:]), CreatedAt: milestone(1), Limits: l}
	f.must(f.outside(org, store.Changes{Key: &k}))
	return id
}

func (f *fixture) useOf(key uuid.UUID) perdure.KeyUse {
	f.Helper()
	keys, err := f.s.Keys(f.ctx, org)
	f.must(err)
	for _, k := range keys {
		if k.ID == key {
			return *k.Use
		}
	}
	f.Fatalf("there is no key %s", key)
	return perdure.KeyUse{}
}

// admitted returns a command that starts an execution with an API key, if the limits of the key
// allow that.
func (f *fixture) admitted(key uuid.UUID, input string) store.Command {
	x := perdure.Execution{
		ID: uuid.New(), Org: org, Kind: "agent", Status: perdure.StatusPending, PersistenceMode: perdure.Remote,
		Queue: "default", Input: json.RawMessage(input), Version: 1, KeyID: &key,
	}
	return store.Command{
		Name: "start", Lane: store.LaneCommits, Org: org, Execution: x.ID,
		Needs: func(*perdure.Execution) store.Needs { return store.Needs{UseOf: &key} },
		Decide: func(s *store.State) (*store.Changes, error) {
			k := s.Limited
			if err := k.Limits.Run(*k.Use); err != nil {
				return nil, err
			}
			if err := k.Limits.Store(*k.Use, int64(len(input))); err != nil {
				return nil, err
			}
			row, l := x, logAt(s, store.Head{Epoch: 7})
			row.CreatedAt, row.ReadyAt = s.Now, s.Now
			l.event(s, perdure.EventCreated)
			return &store.Changes{Execution: &row, Head: &l.head, Records: l.records}, nil
		},
	}
}

func quotaExact(f *fixture) {
	for what, limits := range map[string]perdure.KeyLimits{"running": {MaxRunning: 7}, "stored": {MaxStored: 7*10 + 9}} {
		key := f.limited(limits)
		var commands []store.Command
		for range 40 {
			commands = append(commands, f.admitted(key, `"12345678"`))
		}
		let := 0
		for _, err := range f.together(commands) {
			if err == nil {
				let++
				continue
			}
			f.wantCode(err, perdure.RateLimited)
		}
		f.equal(what+": how many were let in", let, 7)
	}
}

func quotaAtWork(f *fixture) {
	key := f.limited(perdure.KeyLimits{MaxRunning: 2})
	first, second := f.admitted(key, "1"), f.admitted(key, "2")
	f.do(first)
	f.do(second)
	set := func(status perdure.Status, reason string, ended *perdure.Time) {
		f.Helper()
		f.change(first.Execution, func(s *store.State) *store.Changes {
			s.Execution.Status, s.Execution.WaitReason, s.Execution.CompletedAt = status, reason, ended
			return &store.Changes{Execution: s.Execution}
		})
	}
	for _, c := range []struct {
		status perdure.Status
		reason string
		want   int64
	}{
		{perdure.StatusRunning, "", 2},
		{perdure.StatusWaiting, "task", 2},
		{perdure.StatusCancelling, "", 2},
		{perdure.StatusWaiting, "signal", 1},
		{perdure.StatusWaiting, "timer", 1},
	} {
		set(c.status, c.reason, nil)
		f.equal(fmt.Sprintf("what is at work with one %s for %q", c.status, c.reason), f.useOf(key).Running, c.want)
		f.equal("the same decided on", f.look(uuid.New(), store.Needs{UseOf: &key}).Limited.Use.Running, c.want)
	}
	set(perdure.StatusCompleted, "", ptr(f.s.Now()))
	f.equal("what is at work when one has ended", f.useOf(key).Running, int64(1))
}

func quotaStored(f *fixture) {
	key := f.limited(perdure.KeyLimits{MaxStored: 1 << 30})
	command := f.admitted(key, `"12345678"`)
	f.do(command)
	id := command.Execution
	want := func(n int64, what string) {
		f.Helper()
		f.equal("the bytes "+what, f.useOf(key).Stored, n)
		f.equal("the same decided on", f.look(uuid.New(), store.Needs{UseOf: &key}).Limited.Use.Stored, n)
	}
	base := f.useOf(key).Stored
	if base < 10 {
		f.Fatalf("an input of 10 bytes counts as %d", base)
	}
	f.signals(id, "s")
	signal, err := f.s.Signal(f.ctx, id, f.pendingID(id))
	f.must(err)
	base += int64(len(signal.Value))
	f.upload(id, random(150_000), perdure.BlobChunk)
	want(base+150_000, "after an upload")
	f.endExecution(id, f.s.Now())
	after := f.useOf(key).Stored
	if after < base+150_000 {
		f.Errorf("the end of the execution makes %d bytes of %d", after, base+150_000)
	}
	stream := f.streamOf(key, strings.Repeat("s", 1000))
	want(after+1000, "with a stream")
	f.do(store.Command{
		Org: org, Lane: store.LaneChunks, Needs: func(*perdure.Execution) store.Needs { return store.Needs{Stream: stream.Path} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Limited == nil || s.Limited.ID != key || s.Limited.Use == nil {
				f.Errorf("an append to the key's stream is decided on %+v", s.Limited)
			}
			return &store.Changes{Stream: &store.StreamChange{Stream: *s.Stream, Delete: true}}, nil
		},
	})
	want(after, "without the stream")
	f.prune(id, store.Prune{Execution: true})
	f.drop(1000)
	want(0, "once the execution is deleted")
}

func (f *fixture) pendingID(id uuid.UUID) string {
	f.Helper()
	pending, err := f.s.PendingSignals(f.ctx, id, nil, -1, 1)
	f.must(err)
	return pending[0].ID
}

func (f *fixture) streamOf(key uuid.UUID, content string) store.Stream {
	f.Helper()
	return f.stream(org, "of the key", func(c *store.StreamChange) {
		c.Stream.KeyID = &key
		appending(content)(c)
	})
}

func quotaNone(f *fixture) {
	key := f.limited(perdure.KeyLimits{RequestsPerSecond: 9})
	k := f.look(uuid.New(), store.Needs{UseOf: &key}).Limited
	if k == nil || k.Use != nil {
		f.Errorf("a key without limits of the store is decided on as %+v", k)
	}
	f.do(store.Command{
		Org: "other", Needs: func(*perdure.Execution) store.Needs { return store.Needs{UseOf: &key} },
		Decide: func(s *store.State) (*store.Changes, error) {
			if s.Limited != nil {
				f.Errorf("another org's command sees the key %+v", s.Limited)
			}
			return nil, nil
		},
	})
}

func auditFields(f *fixture) {
	whole := perdure.AuditRecord{
		At: milestone(1), Org: org, Action: perdure.AuditDefinitionChanged, SubjectID: ptr(uuid.New()), SubjectName: "s", Before: "b", After: "a",
		Actor: perdure.Actor{KeyID: ptr(uuid.New()), Name: "n", RequestID: "r", RemoteAddress: "192.0.2.1:9"},
	}
	bare := perdure.AuditRecord{At: milestone(2), Org: org, Action: perdure.AuditRetentionChanged, Actor: perdure.Actor{Name: "process"}}
	f.must(f.outside(org, store.Changes{Audit: &whole}))
	f.must(f.outside(org, store.Changes{Audit: &bare}))
	page, err := f.s.AuditLog(f.ctx, org, "", 10)
	f.must(err)
	f.equal("the audit log", page.Items, []perdure.AuditRecord{bare, whole})
	first, err := f.s.AuditLog(f.ctx, org, "", 1)
	f.must(err)
	second, err := f.s.AuditLog(f.ctx, org, first.Next, 1)
	f.must(err)
	f.equal("the log in pages", append(first.Items, second.Items...), []perdure.AuditRecord{bare, whole})
	page, err = f.s.AuditLog(f.ctx, "other", "", 10)
	f.must(err)
	f.equal("another org's audit log", len(page.Items), 0)
	_, err = f.s.AuditLog(f.ctx, org, "forged!", 10)
	f.wantCode(err, perdure.InvalidArgument)
}
