package remote

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/api/perdure/v1/pbconv"
)

// part is a message of a stream in which messages are followed by chunks of their contents.
type part interface{ GetChunk() []byte }

// receiver is the receiving end of a stream of parts.
type receiver[M part] interface{ Recv() (M, error) }

// follow reads the chunks that come after a message on the stream, and stores them in `contents`:
// the contents of that message, in order.
func follow[M part](in receiver[M], contents ...*perdurev1.Content) error {
	for _, m := range contents {
		if m == nil || m.Follows == nil {
			continue
		}
		content := []byte{}
		for int64(len(content)) < m.GetFollows() {
			next, err := in.Recv()
			if err != nil {
				return cutOff(err)
			}
			if len(next.GetChunk()) == 0 {
				return perdure.Errorf(perdure.Internal, "a content ended after %d of %d bytes", len(content), m.GetFollows())
			}
			content = append(content, next.GetChunk()...)
		}
		m.Inline, m.Follows = content, nil
	}
	return nil
}

// cutOff returns the error of a stream that has ended too early: unavailable if err says that the
// stream has ended, and err otherwise.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return perdure.Errorf(perdure.Unavailable, "the server's answer was cut off")
	}
	return err
}

// Execution implements perdure.Dispatch.
func (c *Client) Execution(ctx context.Context, id uuid.UUID) (*perdure.Execution, error) {
	m := &perdurev1.GetExecutionRequest{ExecutionId: pbconv.UUIDToProto(id)}
	return again(ctx, c, "GetExecution", func(ctx context.Context) (*perdure.Execution, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		in, err := c.agents.GetExecution(ctx, m)
		if err != nil {
			return nil, err
		}
		head, err := in.Recv()
		if err != nil {
			return nil, cutOff(err)
		}
		x := head.GetExecution()
		if err := follow(in, x.GetInput(), x.GetOutput()); err != nil {
			return nil, err
		}
		return pbconv.ExecutionFromProto(x)
	})
}

// Tasks implements perdure.Dispatch.
func (c *Client) Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Task, error) {
	m := pbconv.TasksRequestToProto(execution, ids)
	return again(ctx, c, "GetTasks", func(ctx context.Context) ([]*perdure.Task, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		in, err := c.agents.GetTasks(ctx, m)
		if err != nil {
			return nil, err
		}
		var tasks []*perdure.Task
		for {
			head, err := in.Recv()
			if errors.Is(err, io.EOF) {
				return tasks, nil
			}
			if err != nil {
				return nil, err
			}
			if err := follow(in, head.GetTask().GetInput(), head.GetTask().GetResult()); err != nil {
				return nil, err
			}
			task, err := pbconv.TaskFromProto(head.GetTask())
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, task)
		}
	})
}

// Ended implements perdure.Dispatch.
func (c *Client) Ended(ctx context.Context, q perdure.EndedQuery) (perdure.EndedPage, error) {
	m := pbconv.EndedQueryToProto(q)
	return again(ctx, c, "GetEnded", func(ctx context.Context) (perdure.EndedPage, error) {
		got, err := c.agents.GetEnded(ctx, m)
		if err != nil {
			return perdure.EndedPage{}, err
		}
		return pbconv.EndedFromProto(got.GetPage())
	})
}

// Signals implements perdure.Dispatch.
func (c *Client) Signals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error) {
	m := &perdurev1.GetSignalsRequest{ExecutionId: pbconv.UUIDToProto(execution), Patterns: patterns, After: after, Limit: int64(limit)}
	return again(ctx, c, "GetSignals", func(ctx context.Context) ([]perdure.Signal, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		in, err := c.agents.GetSignals(ctx, m)
		if err != nil {
			return nil, err
		}
		var signals []perdure.Signal
		for {
			head, err := in.Recv()
			if errors.Is(err, io.EOF) {
				return signals, nil
			}
			if err != nil {
				return nil, err
			}
			if err := follow(in, head.GetSignal().GetSignalValue()); err != nil {
				return nil, err
			}
			signal, err := pbconv.SignalFromProto(head.GetSignal())
			if err != nil {
				return nil, err
			}
			signals = append(signals, signal)
		}
	})
}

// StreamedText implements perdure.Dispatch.
func (c *Client) StreamedText(ctx context.Context, execution, task uuid.UUID) (perdure.StreamedText, error) {
	m := pbconv.StreamedTextRequestToProto(execution, task)
	return again(ctx, c, "GetStreamedText", func(ctx context.Context) (perdure.StreamedText, error) {
		reply, err := c.agents.GetStreamedText(ctx, m)
		if err != nil {
			return perdure.StreamedText{}, err
		}
		return pbconv.StreamedTextFromProto(reply)
	})
}

// Questions implements perdure.Dispatch.
func (c *Client) Questions(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error) {
	m := pbconv.QuestionsRequestToProto(execution, ids)
	return again(ctx, c, "GetQuestions", func(ctx context.Context) ([]*perdure.Question, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		in, err := c.agents.GetQuestions(ctx, m)
		if err != nil {
			return nil, err
		}
		var questions []*perdure.Question
		for {
			one, err := in.Recv()
			if errors.Is(err, io.EOF) {
				return questions, nil
			}
			if err != nil {
				return nil, err
			}
			q, err := pbconv.QuestionFromProto(one.GetQuestion())
			if err != nil {
				return nil, err
			}
			questions = append(questions, q)
		}
	})
}
