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

// compactParameters are the parameters of a compaction request, which are some of those of a create
// request.
var compactParameters = []string{"model", "input", "instructions", "previous_response_id", "prompt_cache_key"}

// compacted is the body of the response to a compaction request: POST /v1/responses/compact.
type compacted struct {
	ID        string      `json:"id"`
	Object    string      `json:"object"`
	CreatedAt int64       `json:"created_at"`
	Output    []Item      `json:"output"`
	Usage     *usageField `json:"usage"`
}

// compact handles a request to compact a conversation. It runs an execution that writes a summary,
// and returns the summary. The execution continues if the client disconnects.
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

// compactIdempotency returns the idempotency of a compaction request. Its hash differs from the
// hash of a create request with the same body.
func compactIdempotency(r *http.Request, body []byte) idempotency {
	return idempotency{key: r.Header.Get("Idempotency-Key"), hash: sha256.Sum256(append([]byte("compact\n"), body...))}
}

// parseCompact parses the body of a compaction request.
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
	req.Store = &hidden // only a repeat of this request finds the response
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

// compactedOf returns the result of a compaction that has ended: the messages that were kept, and
// the summary of the other messages.
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

// newestSummary returns the summary at the end of a conversation, with the record of its
// compaction.
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
		return "", record, noSummary(f.fold) // a worker of an older version wrote it
	}
	if record, err = e.Compaction(); err != nil {
		return "", record, err
	}
	m, err := e.Message()
	return m.PlainText(), record, err
}

// notCompacted returns the error of a compaction that failed. The error tells OpenAI's official
// clients not to repeat the request, because the run has already tried the model several times.
func notCompacted(f *fold) *Error {
	if f.failure == nil {
		return noSummary(f)
	}
	return ErrorOf(perdure.Code(f.failure.Code), http.StatusInternalServerError, "The conversation was not compacted: "+f.failure.Message).finally()
}

func noSummary(f *fold) *Error {
	return ErrorOf(typeServer, http.StatusInternalServerError, "The conversation was not compacted: the response is "+f.status+".").finally()
}

// usage returns the token usage of the response.
func (f *fold) usage() perdure.Usage {
	if u := f.summed(); u != nil {
		return *u
	}
	return perdure.Usage{}
}

// summed returns the token usage of all model calls of the response, including those that wrote
// summaries. It returns nil if no call has reported its usage.
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
