package openai

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"

	"github.com/perdure/perdure"
)

// compactParameters are the parameters of a compaction, a part of those of a create.
var compactParameters = []string{"model", "input", "instructions", "previous_response_id", "prompt_cache_key"}

// compacted is the response to a compaction.
type compacted struct {
	ID        string      `json:"id"`
	Object    string      `json:"object"`
	CreatedAt int64       `json:"created_at"`
	Output    []Item      `json:"output"`
	Usage     *usageField `json:"usage"`
}

// compact compacts a conversation: it runs an execution of one response, whose summary it returns.
// The execution continues if the client disconnects.
func (a *API) compact(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if err != nil {
		a.fail(w, r, bodyError(err))
		return
	}
	req, err := parseCompact(body)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	leave, err := a.read(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	defer leave()
	made, err := a.compactNow(r.Context(), orgOf(r), req, compactIdempotency(r, body))
	if err != nil {
		a.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, made)
}

// compactIdempotency returns the identity of a compaction. It differs from that of a create with the
// same body.
func compactIdempotency(r *http.Request, body []byte) idempotency {
	return idempotency{key: r.Header.Get("Idempotency-Key"), hash: sha256.Sum256(append([]byte("compact\n"), body...))}
}

// parseCompact parses the body of a compaction.
func parseCompact(body []byte) (*request, error) {
	members, err := membersOf(body)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if _, ofCreate := parsers[name]; ofCreate && given(members[name]) && !slices.Contains(compactParameters, name) {
			return nil, invalid(name, "unknown_parameter", "Unknown parameter: '%s'. A compaction takes model, input, instructions, previous_response_id and prompt_cache_key.", name)
		}
	}
	return parseMembers(&request{compacts: true}, members)
}

// compactNow runs a compaction to its end.
func (a *API) compactNow(ctx context.Context, org string, req *request, idem idempotency) (*compacted, error) {
	hidden := false
	req.Store = &hidden // the response is found only by a repeat of the request
	b, err := a.prepare(ctx, org, req, idem)
	if err != nil {
		return nil, err
	}
	var open []string
	if b.previous != nil {
		open = b.previous.open()
	}
	id, err := b.execution(ctx, b.previous, open)
	if err != nil {
		return nil, err
	}
	f, err := a.find(ctx, org, id, true)
	if err == nil {
		err = a.wait(ctx, f.fold)
	}
	if err != nil {
		return nil, err
	}
	return a.compactedOf(ctx, org, f)
}

// compactedOf returns the result of an ended compaction: the messages that stay, and the summary.
func (a *API) compactedOf(ctx context.Context, org string, f *found) (*compacted, error) {
	if f.status != statusCompleted {
		return nil, notCompacted(f.fold)
	}
	summary, record, err := a.newestSummary(ctx, f)
	if err != nil {
		return nil, err
	}
	c := &compacted{ID: f.id(), Object: "response.compaction", CreatedAt: f.created.Unix(), Usage: usageOf(f.usage())}
	for _, id := range record.Pinned {
		e, err := a.Engine.Store.Entry(ctx, f.row.Execution, id)
		if err != nil {
			return nil, err
		}
		m, err := e.Message()
		if err != nil {
			return nil, err
		}
		c.Output = append(c.Output, itemOf(perdure.InputMessage{Role: m.Role, Parts: m.Parts}))
	}
	c.Output = append(c.Output, Item{Type: itemCompaction, summary: newSummary(summary, record)})
	for n := range c.Output {
		c.Output[n].ID = itemID(prefixOf(c.Output[n].Type), f.id(), sideOutput, n)
	}
	return c, a.sealSummaries(ctx, org, c.Output)
}

// newestSummary returns the compaction at the end of a conversation.
func (a *API) newestSummary(ctx context.Context, f *found) (string, perdure.CompactionRecord, error) {
	var record perdure.CompactionRecord
	x, err := a.Engine.Store.Execution(ctx, f.execution.Org, f.row.Execution)
	if err != nil {
		return "", record, err
	}
	if x.Leaf == nil {
		return "", record, noSummary(f.fold)
	}
	e, err := a.Engine.Store.Entry(ctx, x.ID, *x.Leaf)
	if err != nil {
		return "", record, err
	}
	if e.Type != perdure.EntryCompaction {
		return "", record, noSummary(f.fold) // by a worker of an older version
	}
	if record, err = e.Compaction(); err != nil {
		return "", record, err
	}
	m, err := e.Message()
	return m.PlainText(), record, err
}

// notCompacted returns the error of a compaction that failed. The official clients do not repeat it:
// the run has tried the model several times.
func notCompacted(f *fold) *Error {
	if f.failure == nil {
		return noSummary(f)
	}
	return ErrorOf(perdure.Code(f.failure.Code), http.StatusInternalServerError, "The conversation was not compacted: "+f.failure.Message).finally()
}

func noSummary(f *fold) *Error {
	return ErrorOf(typeServer, http.StatusInternalServerError, "The conversation was not compacted: the response is "+f.status+".").finally()
}

// usage returns the usage of the response.
func (f *fold) usage() perdure.Usage {
	if u := f.summed(); u != nil {
		return *u
	}
	return perdure.Usage{}
}

// summed returns the usage of the response's model calls, those of its compactions included; nil if
// no call has reported one.
func (f *fold) summed() *perdure.Usage {
	said := f.merged().Usage
	if said == nil || f.compactions == nil {
		if said == nil {
			return f.compactions
		}
		return said
	}
	all := said.Add(*f.compactions)
	return &all
}

// compactionCall adds the usage of a model call that wrote a summary.
func (f *fold) compactionCall(e *perdure.Entry) {
	var call struct {
		Purpose string         `json:"purpose"`
		Usage   *perdure.Usage `json:"usage"`
	}
	if json.Unmarshal(e.Metadata, &call) != nil || call.Purpose != "compaction" || call.Usage == nil {
		return
	}
	all := *call.Usage
	if f.compactions != nil {
		all = f.compactions.Add(all)
	}
	f.compactions = &all
}
