package grpcapi_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestPromotedContentIsSent checks entries, inputs and results whose contents are references. For a
// promoted execution, which is REMOTE, the server sends these contents to the worker. For a LOCAL
// execution it sends none.
func TestPromotedContentIsSent(t *testing.T) {
	w := start(t)
	c := w.dial(t, "worker")
	id, content := uuid.New(), []byte(`{"parts":[{"type":"text","text":"hello"}]}`)
	ref := perdure.ContentRef(id, content)
	w.fake.blobs = map[uuid.UUID][]byte{ref.ID: content}
	w.fake.entries = each([]perdure.Entry{
		{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser, Blob: &ref},
		{ID: uuid.New(), Type: perdure.EntryMessage, Role: perdure.RoleUser, Blob: &ref},
	})
	for mode, want := range map[perdure.PersistenceMode]string{perdure.Remote: string(content), perdure.Local: ""} {
		w.fake.answer = func(call string, _ any) (any, error) {
			x := &perdure.Execution{ID: id, PersistenceMode: mode, InputBlob: &ref}
			if call == "Tasks" {
				return []*perdure.Task{{ID: uuid.New(), ExecutionID: id, ResultBlob: &ref}}, nil
			}
			return x, nil
		}
		n := 0
		for e, err := range c.Entries(t.Context(), perdure.EntryQuery{ExecutionID: id, Leaf: uuid.New()}) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; string(e.Content) != want {
				t.Errorf("%s: an entry comes with %q", mode, e.Content)
			}
		}
		x, err := c.Execution(t.Context(), id)
		if err != nil || n != 2 || string(x.Input) != want {
			t.Errorf("%s: %d entries, and the input %q, %v", mode, n, x.Input, err)
		}
		tasks, err := c.Tasks(t.Context(), id, []uuid.UUID{uuid.New()})
		if err != nil || len(tasks) != 1 || string(tasks[0].Result) != want {
			t.Errorf("%s: the tasks are %v, %v", mode, tasks, err)
		}
	}
}
