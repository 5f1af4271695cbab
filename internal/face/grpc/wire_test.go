package grpcapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/api/perdure/v1/pbconv/pbconvtest"
	"github.com/perdure/perdure/worker/remote"
)

var full = pbconvtest.Filler{Rand: rand.New(rand.NewPCG(7, 7)), Full: true}

// short replaces large contents by their hashes in comparisons, so that people can read the
// differences.
var short = cmp.FilterPath(func(p cmp.Path) bool {
	return p.Last().Type() == reflect.TypeFor[json.RawMessage]() || p.Last().Type() == reflect.TypeFor[[]byte]()
}, cmp.Transformer("sum", func(b []byte) string {
	if len(b) < 1<<10 {
		return fmt.Sprintf("%#v %s", b == nil, b)
	}
	return fmt.Sprintf("%d bytes, SHA-256 %x", len(b), sha256.Sum256(b))
}))

// same fails the test if the value that arrived differs from the value that was sent.
func same(t *testing.T, what string, sent, arrived any) {
	t.Helper()
	if diff := cmp.Diff(sent, arrived, short); diff != "" {
		t.Errorf("%s changed on the way (-sent +arrived):\n%s", what, diff)
	}
}

// exchange sends a request with all fields set and gets a response with all fields set. The
// function `asServed` changes a copy of the request into what the server must receive. The function
// `asGiven` changes a copy of the response into what the client must receive.
func exchange[Q, R any](t *testing.T, w *world, call func(Q) (R, error), asServed func(*Q), asGiven func(*R)) {
	t.Helper()
	request, reply := pbconvtest.Fill[Q](full), pbconvtest.Fill[R](full)
	w.fake.answer = func(string, any) (any, error) { return reply, nil }
	got, err := call(request)
	if err != nil {
		t.Fatal(err)
	}
	if asServed != nil {
		asServed(&request)
	}
	if asGiven != nil {
		asGiven(&reply)
	}
	same(t, "the request", any(request), w.fake.last(t))
	same(t, "the answer", reply, got)
}

// stayOnServer clears those fields of an execution that the server does not send.
func stayOnServer(x *perdure.Execution) {
	x.Answer, x.NextSignal = nil, 0
	x.ReadyAt, x.NotBefore, x.CancelBy, x.CheckpointAt = perdure.Time{}, perdure.Time{}, perdure.Time{}, perdure.Time{}
}

func TestEveryCallIsTheSameAsInProcess(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	ctx := t.Context()
	notEmbedded := func(p *perdure.Poll) { p.Embedded = false }
	t.Run("Register", func(t *testing.T) {
		exchange(t, w, bind(ctx, c.Register), func(r *perdure.Registration) {
			r.Embedded = false
			for _, k := range append(slices.Clone(r.Agents), r.Tasks...) {
				for i := range k.Endpoints {
					k.Endpoints[i].Queue = "" // only the server sets it
				}
			}
		}, nil)
	})
	t.Run("PollAgents", func(t *testing.T) {
		exchange(t, w, bind(ctx, c.PollAgents), notEmbedded, func(claims *[]perdure.AgentClaim) {
			for _, claim := range *claims {
				stayOnServer(claim.Execution)
			}
		})
	})
	t.Run("PollTasks", func(t *testing.T) {
		exchange(t, w, bind(ctx, c.PollTasks), func(p *perdure.Poll) {
			notEmbedded(p)
			p.Ended = false // not used for tasks
		}, nil)
	})
	t.Run("Ended", func(t *testing.T) { exchange(t, w, bind(ctx, c.Ended), nil, nil) })
	t.Run("Heartbeat", func(t *testing.T) { exchange(t, w, bind(ctx, c.Heartbeat), nil, nil) })
	t.Run("Release", func(t *testing.T) {
		exchange(t, w, func(r perdure.Release) (struct{}, error) { return struct{}{}, c.Release(ctx, r) }, nil, nil)
	})
	t.Run("Commit", func(t *testing.T) {
		exchange(t, w, bind(ctx, c.Commit), func(c *perdure.Commit) {
			c.Offer.Embedded = false
			for i := range c.Entries {
				c.Entries[i].Entry.Blob = nil
			}
		}, nil)
	})
	t.Run("FinishTask", func(t *testing.T) {
		exchange(t, w, bind(ctx, c.FinishTask), func(f *perdure.TaskFinish) { f.Embedded = false },
			func(r *perdure.FinishReply) { stayOnServer(r.Claim.Execution) })
	})
	t.Run("Append", func(t *testing.T) {
		exchange(t, w, bind(ctx, c.Append), nil, func(replies *[]perdure.FrameReply) {
			for _, r := range *replies {
				r.Err.Err = nil
			}
		})
	})
	t.Run("Execution", func(t *testing.T) {
		exchange(t, w, bind(ctx, c.Execution), nil, func(x **perdure.Execution) { stayOnServer(*x) })
	})
}

func TestEveryReadIsTheSameAsInProcess(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	ctx := t.Context()
	execution, ids := full.UUID(), []uuid.UUID{full.UUID(), full.UUID(), full.UUID()}
	t.Run("Tasks", func(t *testing.T) {
		reply := append(pbconvtest.Fill[[]*perdure.Task](full), nil)
		w.fake.answer = func(string, any) (any, error) { return reply, nil }
		got, err := c.Tasks(ctx, execution, ids)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the request", any(args{execution, ids}), w.fake.last(t))
		same(t, "the answer", reply, got)
	})
	t.Run("Signals", func(t *testing.T) {
		reply := pbconvtest.Fill[[]perdure.Signal](full)
		w.fake.answer = func(string, any) (any, error) { return reply, nil }
		got, err := c.Signals(ctx, execution, []string{"a.*", "b"}, 5, 17)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the request", any(args{execution, []string{"a.*", "b"}, int64(5), 17}), w.fake.last(t))
		same(t, "the answer", reply, got)
	})
	t.Run("Entries", func(t *testing.T) {
		query, entries := pbconvtest.Fill[perdure.EntryQuery](full), pbconvtest.Fill[[]perdure.Entry](full)
		w.fake.entries = each(entries)
		var got []perdure.Entry
		for entry, err := range c.Entries(ctx, query) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, entry)
		}
		same(t, "the request", any(query), w.fake.last(t))
		same(t, "the answer", entries, got)
	})
}

func TestBlobsGoBothWays(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	for _, size := range []int{0, 1, perdure.BlobChunk, 5<<20 + 1} {
		content := bytes.Repeat([]byte("perdure"), size/7+1)[:size]
		owner := pbconvtest.Fill[perdure.BlobOwner](full)
		ref, err := c.PutBlob(t.Context(), owner, int64(size), bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the owner", any(args{owner, int64(size)}), w.fake.last(t))
		reader, err := c.GetBlob(t.Context(), owner.ExecutionID, ref.ID)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(reader)
		if err != nil || reader.Close() != nil || !bytes.Equal(got, content) {
			t.Fatalf("%d bytes came back as %d, %v", size, len(got), err)
		}
	}
	if _, err := c.GetBlob(t.Context(), uuid.New(), uuid.New()); !perdure.IsCode(err, perdure.NotFound) {
		t.Fatalf("a blob that does not exist gives %v", err)
	}
}

func TestKeyAloneDeterminesEmbedded(t *testing.T) {
	w := start(t)
	for _, key := range []string{"worker", "embedded"} {
		c := w.dial(t, key)
		want := key == "embedded"
		if _, err := c.PollTasks(t.Context(), perdure.Poll{Embedded: !want}); err != nil {
			t.Fatal(err)
		}
		if got := w.fake.last(t).(perdure.Poll).Embedded; got != want {
			t.Errorf("a poll with the key %q is embedded: %v", key, got)
		}
		if _, err := c.Commit(t.Context(), perdure.Commit{Offer: perdure.TaskOffer{Embedded: !want}}); err != nil {
			t.Fatal(err)
		}
		if got := w.fake.last(t).(perdure.Commit).Offer.Embedded; got != want {
			t.Errorf("a commit with the key %q is embedded: %v", key, got)
		}
	}
}

func TestTheClientStandsInForAMissingWorkerID(t *testing.T) {
	w := start(t)
	id := uuid.New()
	c, err := remote.Dial(t.Context(), remote.Options{Addr: w.addr, Token: "worker", WorkerID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Heartbeat(t.Context(), perdure.Heartbeat{}); err != nil {
		t.Fatal(err)
	}
	same(t, "the worker", id, w.fake.last(t).(perdure.Heartbeat).WorkerID)
}

func bind[Q, R any](ctx context.Context, call func(context.Context, Q) (R, error)) func(Q) (R, error) {
	return func(q Q) (R, error) { return call(ctx, q) }
}

func each(entries []perdure.Entry) func(func(perdure.Entry, error) bool) {
	return func(yield func(perdure.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}
