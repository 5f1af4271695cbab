package questions

import (
	"context"
	"io"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

// Judge applies the approval policies of an execution to the tool calls of a commit: the new tasks
// that have a clearance, which is the worker's statement why the call may run. Judge reads the
// policies from the store, so a worker cannot misstate them. For a LOCAL execution Judge returns
// nothing, because the policies are on its worker.
func (s *Questions) Judge(ctx context.Context, org string, c perdure.Commit) (rules.JudgedTasks, error) {
	if !slices.ContainsFunc(c.Tasks, func(t perdure.NewTask) bool { return t.Clearance != nil }) {
		return nil, nil
	}
	x, err := s.store.Execution(ctx, org, c.Lease.ExecutionID)
	if err != nil || x.Gate == nil || x.PersistenceMode == perdure.Local {
		return nil, err
	}
	policies, err := x.Approvals()
	if err != nil {
		return nil, err
	}
	all := rules.JudgedTasks{}
	for at, t := range c.Tasks {
		if t.Clearance == nil || !x.Gate.Guards(t.Kind) {
			continue
		}
		input, err := s.inputBytes(ctx, x.ID, t.Input)
		if err != nil {
			return nil, err
		}
		judged, err := s.judgeCall(policies, perdure.ApprovalCall{Tool: t.Kind, Arguments: input, Workspace: x.Workspace, Turn: t.Place.Turn()})
		if err != nil {
			return nil, err
		}
		all[at] = rules.JudgedTask{Details: perdure.DetailsHash(perdure.QuestionApproval, t.Kind, input), Judged: judged}
	}
	return all, nil
}

// judgeCall returns what the policies say about a call. It denies arguments that are not one valid
// JSON document, for example with a member that occurs twice, because two programs may read them
// differently.
func (s *Questions) judgeCall(a perdure.Approvals, call perdure.ApprovalCall) (perdure.Judgement, error) {
	if perdure.CheckArguments("arguments", call.Arguments) != nil {
		return perdure.Judgement{Then: perdure.ApprovalDeny, Number: -1}, nil
	}
	return a.Judge(call, s.kinds.Schemas.Fits)
}

// inputBytes returns the input of a new task, inline or uploaded. If its upload is incomplete,
// inputBytes returns no bytes; the commit is refused later.
func (s *Questions) inputBytes(ctx context.Context, execution uuid.UUID, p perdure.Payload) ([]byte, error) {
	if p.Blob == nil {
		return p.Bytes, nil
	}
	r, err := s.store.Blob(ctx, execution, p.Blob.ID)
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, s.payloadLimit))
}
