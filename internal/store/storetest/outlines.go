package storetest

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// outlinesOfAPage checks the method Outlines. Outlines must return contents from rows and from
// blobs, and the state of the newest checkpoint. For a content over ShownLimit, Outlines must
// return the reference to the blob. Outlines must leave out executions of other orgs.
func outlinesOfAPage(f *fixture) {
	bare := f.start()
	two := f.start(func(x *perdure.Execution) { x.Input = json.RawMessage(`{"userPrompt":"short"}`) })
	f.checkpoints(two, perdure.Checkpoint{State: []byte(`{"n":1}`)}, perdure.Checkpoint{State: []byte(`{"n":2}`)})
	large := jsonText(perdure.InlineLimit + 1)
	blob := f.start(func(x *perdure.Execution) { x.Input = large })
	f.checkpoints(blob, perdure.Checkpoint{State: large})
	huge := f.start(func(x *perdure.Execution) { x.Input = jsonText(perdure.ShownLimit + 1) })
	other := f.start(func(x *perdure.Execution) { x.Org = "other" })

	got, err := f.s.Outlines(f.ctx, org, []uuid.UUID{two, blob, huge, bare, other, uuid.New()})
	f.must(err)
	f.equal("the executions", len(got), 4)
	f.equal("from rows", got[two], store.Outline{Input: json.RawMessage(`{"userPrompt":"short"}`), State: json.RawMessage(`{"n":2}`)})
	f.equal("from blobs", got[blob], store.Outline{Input: large, State: large})
	if o := got[huge]; o.Input != nil || o.InputBlob == nil || o.InputBlob.Length != perdure.ShownLimit+1 {
		f.Errorf("of an input that is not shown there are %d bytes, and the reference %v", len(o.Input), o.InputBlob)
	}
	if got[bare].State != nil {
		f.Errorf("without a checkpoint there is the state %s", got[bare].State)
	}
	none, err := f.s.Outlines(f.ctx, org, nil)
	f.must(err)
	f.equal("of no page", len(none), 0)
}
