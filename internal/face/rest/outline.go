package rest

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/homes"
	"github.com/perdure/perdure/internal/face/title"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

// outlinesAtOnce is the maximum number of workers that one list queries at the same time.
const outlinesAtOnce = 8

// outline adds titles and token usage to the executions of a page. It reads the store once for all
// executions. For a LOCAL execution it queries the worker that stores the contents.
func (s *server) outline(ctx context.Context, org string, page []*perdure.Execution) error {
	ids := make([]uuid.UUID, len(page))
	for i, x := range page {
		ids[i] = x.ID
	}
	found, err := s.readWhole().Outlines(ctx, org, ids)
	if err != nil {
		return err
	}
	var asked errgroup.Group
	asked.SetLimit(outlinesAtOnce)
	for _, x := range page {
		o := found[x.ID]
		if x.PersistenceMode != perdure.Local {
			outlineOf(x, o)
			continue
		}
		asked.Go(func() error {
			s.fetchOutline(ctx, x, &o)
			outlineOf(x, o)
			return nil
		})
	}
	return asked.Wait()
}

// outlineWithin is the maximum time that a list waits for the workers of LOCAL executions.
const outlineWithin = time.Second

// fetchOutline asks the worker of a LOCAL execution for the execution's title and token usage. If
// the worker does not answer in time, the list is shown without them.
func (s *server) fetchOutline(ctx context.Context, x *perdure.Execution, o *store.Outline) {
	ctx, cancel := context.WithTimeout(ctx, outlineWithin)
	defer cancel()
	var inputLeft, stateLeft int64
	var inputSum, stateSum string
	err := s.Engine.Homes().Fill(ctx, x, []homes.Field{
		shown(&o.Input, o.InputBlob, &inputLeft, &inputSum),
		shown(&o.State, o.StateBlob, &stateLeft, &stateSum),
	})
	if inputLeft > 0 || err != nil && o.InputBlob != nil {
		o.Input = nil
	}
	if stateLeft > 0 || err != nil && o.StateBlob != nil {
		o.State = nil
	}
}

func outlineOf(x *perdure.Execution, o store.Outline) {
	x.Title = title.Of(o.Input, x.Kind)
	// Only the react agent has a state with these members. The state of an agent of another kind may
	// be anything.
	var spent struct {
		TotalUsage   *perdure.Usage           `json:"totalUsage"`
		UsageByModel map[string]perdure.Usage `json:"usageByModel"`
	}
	if json.Unmarshal(o.State, &spent) == nil {
		x.Usage, x.UsageByModel = spent.TotalUsage, spent.UsageByModel
	}
	turnOf(x, o.State)
}

// turnOf sets StopReason and TurnError of a conversation that waits for its user: the reason why
// the newest response has ended. While the agent works, turnOf sets nothing, because the newest
// checkpoint can be of an earlier response.
func turnOf(x *perdure.Execution, state json.RawMessage) {
	if x.Kind != perdure.ReactKind || x.WaitReason != perdure.WaitKindSignal.String() {
		return
	}
	var ended struct {
		StopReason perdure.StopReason `json:"stopReason"`
		Error      string             `json:"error"`
	}
	if json.Unmarshal(state, &ended) == nil {
		x.StopReason, x.TurnError = ended.StopReason, title.Line(ended.Error)
	}
}
