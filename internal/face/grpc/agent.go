package grpcapi

import (
	"bytes"
	"context"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// agentService implements the gRPC calls of workers that run agents.
type agentService struct {
	perdurev1.UnimplementedAgentDispatchServer
	backend  Backend
	limit    int64
	draining <-chan struct{}
	lines    *workerConnections
}

func (s *agentService) PollAgent(ctx context.Context, m *perdurev1.PollAgentRequest) (*perdurev1.PollAgentResponse, error) {
	p, err := pbconv.PollFromProto(m)
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	p.Embedded = c.Embedded
	s.lines.note(ctx, c.Org, p.WorkerID)
	claims, err := waitFor(ctx, s.draining, p, c.PollAgents)
	if err != nil {
		return nil, err
	}
	reply := &perdurev1.PollAgentResponse{}
	fit := answerFitter(ctx, c)
	for _, claim := range claims {
		m := pbconv.AgentClaimToProto(&claim)
		if err == nil {
			err = fit.AgentClaim(m, claim.Lease)
		}
		reply.Claims = append(reply.Claims, m)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, giveBack(ctx, c, err, agentReleases(p, claims))
	}
	return reply, nil
}

func (s *agentService) Commit(ctx context.Context, m *perdurev1.CommitRequest) (*perdurev1.CommitResponse, error) {
	commit, err := pbconv.CommitFromProto(m)
	if err != nil {
		return nil, err
	}
	return doCommit(ctx, commit)
}

// doCommit sends a commit to the engine. All gRPC calls that commit to an execution use doCommit.
func doCommit(ctx context.Context, commit perdure.Commit) (*perdurev1.CommitResponse, error) {
	c := callerOf(ctx)
	commit.Offer.Embedded = c.Embedded
	answer, err := c.Commit(ctx, commit)
	if err != nil {
		return nil, err
	}
	reply := pbconv.CommitReplyToProto(answer)
	return reply, perdure.Unanswered(fitCommit(answerFitter(ctx, c), commit.Lease, answer, reply))
}

func fitCommit(fit *pbconv.Fitter, lease perdure.Lease, answer perdure.CommitReply, reply *perdurev1.CommitResponse) error {
	for i, claim := range answer.Claims {
		if err := fit.TaskClaim(reply.Claims[i], claim.Lease); err != nil {
			return err
		}
	}
	if err := fit.Signals(reply.GetSignals(), perdure.BlobOwner{ExecutionID: lease.ExecutionID, Lease: &lease}); err != nil {
		return err
	}
	fit.Tasks(reply.GetTasks())
	return nil
}

// answerFitter returns the Fitter for responses to `c`. The Fitter stores contents that are too
// large for a gRPC message in blobs.
func answerFitter(ctx context.Context, c caller) *pbconv.Fitter {
	return &pbconv.Fitter{Answer: true, Put: func(owner perdure.BlobOwner, content []byte) (perdure.BlobRef, error) {
		return c.PutBlob(ctx, owner, int64(len(content)), bytes.NewReader(content))
	}}
}

func (s *agentService) GetExecution(m *perdurev1.GetExecutionRequest, out perdurev1.AgentDispatch_GetExecutionServer) error {
	id, err := pbconv.UUIDFromProto("execution_id", m.GetExecutionId())
	if err != nil {
		return err
	}
	c := callerOf(out.Context())
	x, err := c.Execution(out.Context(), id)
	if err != nil {
		return err
	}
	head := pbconv.ExecutionToProto(x)
	parts := parts{ctx: out.Context(), from: c, chunk: func(chunk []byte) error {
		return out.Send(&perdurev1.GetExecutionResponse{Part: &perdurev1.GetExecutionResponse_Chunk{Chunk: chunk}})
	}}
	return parts.send(id, func() error {
		return out.Send(&perdurev1.GetExecutionResponse{Part: &perdurev1.GetExecutionResponse_Execution{Execution: head}})
	}, head.GetInput(), head.GetOutput())
}

func (s *agentService) GetTasks(m *perdurev1.GetTasksRequest, out perdurev1.AgentDispatch_GetTasksServer) error {
	execution, ids, err := pbconv.TasksRequestFromProto(m)
	if err != nil {
		return err
	}
	c := callerOf(out.Context())
	tasks, err := c.Tasks(out.Context(), execution, ids)
	if err != nil {
		return err
	}
	parts := parts{ctx: out.Context(), from: c, chunk: func(chunk []byte) error {
		return out.Send(&perdurev1.GetTasksResponse{Part: &perdurev1.GetTasksResponse_Chunk{Chunk: chunk}})
	}}
	for _, task := range tasks {
		head := pbconv.TaskToProto(task)
		if err := parts.send(execution, func() error {
			return out.Send(&perdurev1.GetTasksResponse{Part: &perdurev1.GetTasksResponse_Task{Task: head}})
		}, head.GetInput(), head.GetResult()); err != nil {
			return err
		}
	}
	return nil
}

func (s *agentService) GetEnded(ctx context.Context, m *perdurev1.GetEndedRequest) (*perdurev1.GetEndedResponse, error) {
	q, err := pbconv.EndedQueryFromProto(m)
	if err != nil {
		return nil, err
	}
	page, err := callerOf(ctx).Ended(ctx, q)
	if err != nil {
		return nil, err
	}
	return &perdurev1.GetEndedResponse{Page: pbconv.EndedToProto(page)}, nil
}

func (s *agentService) GetSignals(m *perdurev1.GetSignalsRequest, out perdurev1.AgentDispatch_GetSignalsServer) error {
	execution, err := pbconv.UUIDFromProto("execution_id", m.GetExecutionId())
	if err != nil {
		return err
	}
	c := callerOf(out.Context())
	signals, err := c.Signals(out.Context(), execution, m.GetPatterns(), m.GetAfter(), int(m.GetLimit()))
	if err != nil {
		return err
	}
	parts := parts{ctx: out.Context(), from: c, chunk: func(chunk []byte) error {
		return out.Send(&perdurev1.GetSignalsResponse{Part: &perdurev1.GetSignalsResponse_Chunk{Chunk: chunk}})
	}}
	for _, signal := range signals {
		head := pbconv.SignalToProto(signal)
		if err := parts.send(execution, func() error {
			return out.Send(&perdurev1.GetSignalsResponse{Part: &perdurev1.GetSignalsResponse_Signal{Signal: head}})
		}, head.GetSignalValue()); err != nil {
			return err
		}
	}
	return nil
}

// GetQuestions streams the requested questions, one in each message.
func (s *agentService) GetQuestions(m *perdurev1.GetQuestionsRequest, out perdurev1.AgentDispatch_GetQuestionsServer) error {
	execution, ids, err := pbconv.QuestionsRequestFromProto(m)
	if err != nil {
		return err
	}
	questions, err := callerOf(out.Context()).Questions(out.Context(), execution, ids)
	if err != nil {
		return err
	}
	for _, q := range questions {
		if err := out.Send(&perdurev1.GetQuestionsResponse{Question: pbconv.QuestionToProto(q)}); err != nil {
			return err
		}
	}
	return nil
}

// GetStreamedText returns the text that the newest attempt of an ended task has streamed.
func (s *agentService) GetStreamedText(ctx context.Context, m *perdurev1.GetStreamedTextRequest) (*perdurev1.GetStreamedTextResponse, error) {
	execution, task, err := pbconv.StreamedTextRequestFromProto(m)
	if err != nil {
		return nil, err
	}
	text, err := callerOf(ctx).StreamedText(ctx, execution, task)
	return pbconv.StreamedTextToProto(text), err
}
