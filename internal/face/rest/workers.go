package rest

import (
	"context"
	"encoding/base64"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
)

func (s *server) workerRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Workers"}
	operation.Get(g, "/workers", "listWorkers", "List the workers that were seen within the last hour, and what they hold", s.listWorkers)
	operation.Get(g, "/queues", "listQueues", "List the queues, by name, with counts of what waits and runs", s.listQueues)
	operation.On(g, http.MethodPost, "/queues/pause", "pauseQueue", "Pause a queue: no more of its work is given out; what runs continues", s.pauseQueue, operation.AdminOnly)
	operation.On(g, http.MethodPost, "/queues/resume", "resumeQueue", "Resume a paused queue", s.resumeQueue, operation.Status(204), operation.AdminOnly)
}

type listWorkersInput struct {
	operation.OrgInput
	operation.PageInput
}

func (s *server) listWorkers(ctx context.Context, in *listWorkersInput) (*operation.Body[operation.List[*perdure.WorkerInfo]], error) {
	after := uuid.Nil
	if in.Cursor != "" {
		var err error
		if after, err = uuid.Parse(in.Cursor); err != nil || after.String() != in.Cursor {
			return nil, badCursor()
		}
	}
	all, next, err := s.Engine.Workers(ctx, in.Org, after, in.Limit)
	if err != nil {
		return nil, err
	}
	cursor := ""
	if next != uuid.Nil {
		cursor = next.String()
	}
	return operation.ListOf(all, cursor), nil
}

func (s *server) listQueues(ctx context.Context, in *listWorkersInput) (*operation.Body[operation.List[*perdure.QueueInfo]], error) {
	after, err := base64.RawURLEncoding.DecodeString(in.Cursor)
	if err != nil || perdure.CheckText("cursor", string(after)) != nil {
		return nil, badCursor()
	}
	all, next, err := s.Engine.Queues(ctx, in.Org, string(after), in.Limit)
	if err != nil {
		return nil, err
	}
	return operation.ListOf(all, base64.RawURLEncoding.EncodeToString([]byte(next))), nil
}

func badCursor() error {
	return perdure.FieldErrorf("cursor", "is not a cursor of this list; leave it out to read from the start")
}

type queueInput struct {
	operation.OrgInput
	Body struct {
		Queue string `json:"queue" doc:"The name of the queue. A queue that has no work yet can be paused, too."`
	}
}

func (s *server) pauseQueue(ctx context.Context, in *queueInput) (*operation.Body[*perdure.QueuePause], error) {
	p, err := s.Engine.PauseQueue(ctx, in.Org, in.Body.Queue)
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(p), nil
}

func (s *server) resumeQueue(ctx context.Context, in *queueInput) (*operation.Nothing, error) {
	return nil, s.Engine.ResumeQueue(ctx, in.Org, in.Body.Queue)
}
