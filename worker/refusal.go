package worker

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

// busy reports whether the server is unavailable or overloaded.
func busy(err error) bool {
	return perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.RateLimited)
}

// forNow reports whether an error is temporary, so that a retry may succeed. Errors without a code
// and timeouts count as temporary.
func forNow(err error) bool { return busy(err) || perdure.IsCode(err, perdure.Internal) }

// denied reports whether the worker's key was refused. The key may be being renewed.
func denied(err error) bool {
	return perdure.IsCode(err, perdure.Unauthenticated) || perdure.IsCode(err, perdure.PermissionDenied)
}

// late reports whether the error means that the worker no longer holds the lease.
func late(err error) bool {
	return perdure.IsCode(err, perdure.LeaseLost) || perdure.IsCode(err, perdure.NotFound)
}

// persist retries a call that stores paid work. No temporary error of the server is a reason to
// drop that work. It returns when the server accepts or refuses the work, when the lease is lost,
// with not_stored, or when ctx ends, which ends with the lease.
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

// persist is like run.persist. The attempt's context does not end with its lease, which the server
// may keep longer. But a worker whose key is refused cannot learn that, so its own clock decides.
func (a *attempt) persist(ctx context.Context, try func() error) error {
	return a.w.retryIf(ctx, a.log, func(err error) bool {
		return forNow(err) || denied(err) && !a.renewed().over()
	}, try)
}

// refusedResult reports whether the server will never accept the result.
func (a *attempt) refusedResult(ctx context.Context, f perdure.TaskFinish, err error) bool {
	return err != nil && f.Error == nil && ctx.Err() == nil && !late(err) && !forNow(err) && !denied(err)
}

// withoutResult returns the end of an attempt whose result is refused. Another run of the code
// would produce and cost the same, so the failure is permanent.
func withoutResult(f perdure.TaskFinish, err error) perdure.TaskFinish {
	failure := *failureOf(err)
	failure.Permanent = true
	f.Result, f.Error = perdure.Payload{}, &failure
	return f
}
