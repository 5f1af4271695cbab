package front

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/problem"
)

// ProblemOf converts an error to a problem. An error that is already a problem is returned
// unchanged. The text of an internal error is not sent to the client; the client gets an id that
// identifies the error in the server's log.
func (f *Front) ProblemOf(ctx context.Context, err error) *problem.Problem {
	var (
		p     *problem.Problem
		coded *perdure.Error
	)
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &coded) && coded.Code != perdure.Internal:
		if coded.Code == perdure.Unavailable {
			f.Lines(ctx).WarnContext(ctx, "unavailable", slog.Any("error", err))
		}
		p = problem.New(coded.Code, coded.Message, coded.Fields...)
		p.RetryAfter = coded.RetryAfter
		return p
	case ctx.Err() != nil:
		return problem.New(perdure.Unavailable, "the request was given up before it was answered")
	}
	id := uuid.NewString()
	f.Lines(ctx).ErrorContext(ctx, "internal error", slog.String("error_id", id), slog.Any("error", err))
	return problem.New(perdure.Internal, "an error inside the server; it is in the server's log as "+id)
}
