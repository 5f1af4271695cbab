package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

// busy reports whether the server is away or has too much to do.
func busy(err error) bool {
	return perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.RateLimited)
}

// forNow reports whether an error says only that the server could not do it now:
// asked again, it may. What fails without a code, or because a deadline has
// passed, is among that.
func forNow(err error) bool { return busy(err) || perdure.IsCode(err, perdure.Internal) }

// denied reports whether the worker's key was refused: it may be being renewed.
func denied(err error) bool {
	return perdure.IsCode(err, perdure.Unauthenticated) || perdure.IsCode(err, perdure.PermissionDenied)
}

// late reports whether what the error refuses is not the worker's any more.
func late(err error) bool {
	return perdure.IsCode(err, perdure.LeaseLost) || perdure.IsCode(err, perdure.NotFound)
}

// persist repeats what stores work that is paid for: whatever the server says of
// itself is no reason to drop it. It ends with what the server says of the work,
// that the lease is lost or that it will not take it; with not_stored; or with ctx,
// which ends with the lease.
func (r *run) persist(ctx context.Context, try func() error) error {
	return r.w.retryIf(ctx, r.log, func(err error) bool { return forNow(err) || denied(err) }, try)
}

// finish ends the attempt at the server.
func (a *attempt) finish(ctx context.Context, f perdure.TaskFinish) (reply perdure.FinishReply, err error) {
	var sent time.Duration
	err = a.persist(ctx, func() error {
		sent = a.w.Clock()
		reply, err = a.w.Dispatch.FinishTask(ctx, f)
		return err
	})
	if reply.Claim != nil {
		a.w.dateAgent(reply.Claim, sent)
	}
	return reply, err
}

// persist is that of a run. The attempt's context does not end with its
// lease, which the server may keep for longer: with a key that it refuses the
// worker cannot learn of that, and its own clock tells.
func (a *attempt) persist(ctx context.Context, try func() error) error {
	return a.w.retryIf(ctx, a.log, func(err error) bool {
		return forNow(err) || denied(err) && !a.renewed().over()
	}, try)
}

// refusedResult reports whether the server will not take the result, now or later.
func (a *attempt) refusedResult(ctx context.Context, f perdure.TaskFinish, err error) bool {
	return err != nil && f.Error == nil && ctx.Err() == nil && !late(err) && !forNow(err) && !denied(err)
}

// withoutResult is the end of an attempt whose result is refused: to run the code
// again would bring the same, and be paid again.
func withoutResult(f perdure.TaskFinish, err error) perdure.TaskFinish {
	failure := *failureOf(err)
	failure.Permanent = true
	f.Result, f.Error = perdure.Payload{}, &failure
	return f
}
