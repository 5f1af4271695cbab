package grpcapi_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
	"google.golang.org/protobuf/proto"
)

// messagesOf requests all entries of an execution, and returns the messages of the response.
func (w *world) messagesOf(t *testing.T, batches bool) (all []*perdurev1.GetEntriesResponse, err error) {
	t.Helper()
	ctx, conn := w.raw(t, "worker")
	m := pbconv.EntryQueryToProto(perdure.EntryQuery{ExecutionID: uuid.New(), Leaf: uuid.New()})
	m.Batches = batches
	in, err := perdurev1.NewAgentDispatchClient(conn).GetEntries(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	for {
		got, err := in.Recv()
		if err != nil {
			return all, err
		}
		all = append(all, got)
	}
}

func sized(sizes ...int) (entries []perdure.Entry) {
	for _, size := range sizes {
		entries = append(entries, perdure.Entry{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: jsonOf(size)})
	}
	return entries
}

func times(n, size int) []int {
	sizes := make([]int, n)
	for i := range sizes {
		sizes[i] = size
	}
	return sizes
}

// TestEntriesComeInBatches checks the sizes of batches of entries: at most 256 entries, and a
// message of at most 130 KiB. An entry whose content follows in chunks ends its batch. Entries that
// were read before an error are sent.
func TestEntriesComeInBatches(t *testing.T) {
	w := start(t)
	for name, test := range map[string]struct {
		entries []perdure.Entry
		want    []int // number of entries of each batch; 0 for a chunk
	}{
		"none":           {nil, nil},
		"one":            {sized(100), []int{1}},
		"small ones":     {sized(times(600, 100)...), []int{256, 256, 88}},
		"many bytes":     {sized(times(10, 30_000)...), []int{4, 4, 2}},
		"one in chunks":  {sized(100, perdure.InlineLimit+1, 100), []int{2, 0, 1}},
		"chunks at last": {sized(100, 100_000), []int{2, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			w.fake.entries = each(test.entries)
			all, err := w.messagesOf(t, true)
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			var got []int
			for _, m := range all {
				got = append(got, len(m.GetBatch().GetEntries()))
				if size := proto.Size(m); size > 130<<10 || m.GetEntry() != nil {
					t.Errorf("a message has %d bytes, or one entry: %v", size, m.GetEntry() != nil)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("batches of %v, want %v", got, test.want)
			}
		})
	}
	w.fake.entries = func(yield func(perdure.Entry, error) bool) {
		_ = yield(sized(10)[0], nil) && yield(perdure.Entry{}, perdure.Errorf(perdure.NotFound, "no such leaf"))
	}
	if all, err := w.messagesOf(t, true); len(all) != 1 || errors.Is(err, io.EOF) {
		t.Errorf("%d messages before the error %v", len(all), err)
	}
}

// TestAnOlderWorkerGetsEntriesOneByOne checks that a worker that does not request batches gets
// single entries.
func TestAnOlderWorkerGetsEntriesOneByOne(t *testing.T) {
	w := start(t)
	entries := sized(100, perdure.InlineLimit+1, 200)
	w.fake.entries = each(entries)
	all, err := w.messagesOf(t, false)
	if !errors.Is(err, io.EOF) || len(all) != 4 {
		t.Fatalf("%d messages, %v", len(all), err)
	}
	for i, at := range []int{0, 1, 3} {
		if got := all[at].GetEntry(); string(got.GetId()) != string(entries[i].ID[:]) || all[at].GetBatch() != nil {
			t.Errorf("message %d is %v", at, all[at])
		}
	}
	if len(all[2].GetChunk()) != perdure.InlineLimit+1 || all[1].GetEntry().GetContent().GetFollows() != perdure.InlineLimit+1 {
		t.Errorf("the chunk is %d bytes", len(all[2].GetChunk()))
	}
}
