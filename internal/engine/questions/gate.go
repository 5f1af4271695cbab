package questions

import (
	"context"
	"io"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

// Judge lets the policies of an execution judge the new tasks of a commit that have a clearance. A
// clearance is the statement why a tool call may run. The policies and the bytes of the calls come
// from the store and the commit, so a worker cannot misstate them. For a commit without clearances,
// Judge reads nothing. The policies of a LOCAL execution are on its worker, which judges its tasks
// itself.
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
// JSON document, for example because a member occurs twice. Different programs would read such
// arguments differently.
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
