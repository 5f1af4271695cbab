package grpcapi

import (
	"context"
	"errors"
	"io"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// workerService implements the gRPC calls that all workers make, and those of workers that run
// tasks.
type workerService struct {
	perdurev1.UnimplementedWorkerDispatchServer
	answers  errorConverter
	draining <-chan struct{}
	lines    *workerConnections
}

func (s *workerService) Register(ctx context.Context, m *perdurev1.RegisterRequest) (*perdurev1.RegisterResponse, error) {
	r, err := pbconv.RegistrationFromProto(m)
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	r.Embedded = c.Embedded
	settings, err := c.Register(ctx, r)
	if err != nil {
		return nil, err
	}
	return pbconv.SettingsToProto(settings), nil
}

func (s *workerService) Heartbeat(ctx context.Context, m *perdurev1.HeartbeatRequest) (*perdurev1.HeartbeatResponse, error) {
	h, err := pbconv.HeartbeatFromProto(m)
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	s.lines.note(ctx, c.Org, h.WorkerID)
	reply, err := c.Heartbeat(ctx, h)
	if err != nil {
		return nil, err
	}
	return pbconv.HeartbeatReplyToProto(reply), nil
}

func (s *workerService) Release(ctx context.Context, m *perdurev1.ReleaseRequest) (*perdurev1.ReleaseResponse, error) {
	r, err := pbconv.ReleaseFromProto(m)
	if err != nil {
		return nil, err
	}
	return &perdurev1.ReleaseResponse{}, callerOf(ctx).Release(ctx, r)
}

func (s *workerService) PollTask(ctx context.Context, m *perdurev1.PollTaskRequest) (*perdurev1.PollTaskResponse, error) {
	p, err := pbconv.PollFromProto(m)
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	p.Embedded = c.Embedded
	claims, err := waitFor(ctx, s.draining, p, c.PollTasks)
	if err != nil {
		return nil, err
	}
	reply := &perdurev1.PollTaskResponse{}
	fit := answerFitter(ctx, c)
	for _, claim := range claims {
		m := pbconv.TaskClaimToProto(claim)
		if err == nil {
			err = fit.TaskClaim(m, claim.Lease)
		}
		reply.Claims = append(reply.Claims, m)
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, giveBack(ctx, c, err, taskReleases(p, claims))
	}
	return reply, nil
}

func (s *workerService) FinishTask(ctx context.Context, m *perdurev1.FinishTaskRequest) (*perdurev1.FinishTaskResponse, error) {
	f, err := pbconv.FinishFromProto(m)
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	f.Embedded = c.Embedded
	answer, err := c.FinishTask(ctx, f)
	if err != nil || answer.Claim == nil {
		return &perdurev1.FinishTaskResponse{}, err
	}
	reply := &perdurev1.FinishTaskResponse{Claim: pbconv.AgentClaimToProto(answer.Claim)}
	return reply, perdure.Unanswered(answerFitter(ctx, c).AgentClaim(reply.Claim, answer.Claim.Lease))
}

func (s *workerService) PutBlob(in perdurev1.WorkerDispatch_PutBlobServer) error {
	first, err := in.Recv()
	if err != nil {
		return noHeader(err)
	}
	if first.GetHeader() == nil {
		return noHeader(io.EOF)
	}
	owner, err := pbconv.BlobOwnerFromProto(first.GetHeader())
	if err != nil {
		return err
	}
	content := &chunkReader{next: func() ([]byte, error) {
		m, err := in.Recv()
		return m.GetChunk(), err
	}}
	ref, err := callerOf(in.Context()).PutBlob(in.Context(), owner, first.GetHeader().GetLength(), content)
	if err != nil {
		return err
	}
	return in.SendAndClose(&perdurev1.PutBlobResponse{Blob: pbconv.BlobToProto(&ref)})
}

// noHeader returns the error for a stream that ended before its header message, or that began with
// content.
func noHeader(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return perdure.FieldErrorf("header", "must be the first message of the stream")
}

// chunkReader is an io.Reader that reads the chunks in a stream of gRPC messages as one text.
type chunkReader struct {
	next func() ([]byte, error)
	left []byte
}

func (r *chunkReader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		chunk, err := r.next()
		if err != nil {
			return 0, err
		}
		r.left = chunk
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func (s *workerService) GetBlob(m *perdurev1.GetBlobRequest, out perdurev1.WorkerDispatch_GetBlobServer) error {
	execution, err := pbconv.UUIDFromProto("execution_id", m.GetExecutionId())
	if err != nil {
		return err
	}
	blob, err := pbconv.UUIDFromProto("blob_id", m.GetBlobId())
	if err != nil {
		return err
	}
	content, err := callerOf(out.Context()).GetBlob(out.Context(), execution, blob)
	if err != nil {
		return err
	}
	defer content.Close()
	return sendChunks(content, -1, func(chunk []byte) error {
		return out.Send(&perdurev1.GetBlobResponse{Chunk: chunk})
	})
}
