package worker

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure"
)

// busy reports whether err means that the server cannot be reached, or refuses the call because it is
// overloaded.
func busy(err error) bool {
	return perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.RateLimited)
}

// forNow reports whether err is temporary, so that a retry may succeed. Errors without a code and
// timeouts have the code "internal", and count as temporary.
func forNow(err error) bool { return busy(err) || perdure.IsCode(err, perdure.Internal) }

// denied reports whether the server refused the worker's key. A retry may succeed, because the key
// may be replaced meanwhile. If the refusal names a field, the content of the call has caused the
// refusal. The refusal is then final, and denied returns false.
func denied(err error) bool {
	var coded *perdure.Error
	if errors.As(err, &coded) && len(coded.Fields) > 0 {
		return false
	}
	return perdure.IsCode(err, perdure.Unauthenticated) || perdure.IsCode(err, perdure.PermissionDenied)
}

// late reports whether err means that the lease on which the call relied is lost.
func late(err error) bool {
	return perdure.IsCode(err, perdure.LeaseLost) || perdure.IsCode(err, perdure.NotFound)
}

// persist repeats the call `try`, which stores work whose loss would be costly, until the server
// accepts the work. Errors: the server's permanent refusal, lease_lost, not_stored after
// Config.StoreFor, and the error of ctx, which ends with the lease.
func (r *run) persist(ctx context.Context, try func() error) error {
	return r.w.retryIf(ctx, r.log, func(err error) bool { return forNow(err) || denied(err) }, try)
}

// finish sends the end of the attempt until the server accepts or refuses it. The reply may contain
// a claim. finish sets LeaseFor of that claim to how much of the claim's lease is left.
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

// persist repeats a call as run.persist does, but does not end when the lease ends by the worker's
// clock, because the server may keep the lease longer. Only if the server refuses the worker's key,
// persist ends with the lease, because the worker cannot learn from the server that the lease is
// lost.
func (a *attempt) persist(ctx context.Context, try func() error) error {
	return a.w.retryIf(ctx, a.log, func(err error) bool {
		return forNow(err) || denied(err) && !a.renewed().over()
	}, try)
}

// refusedResult reports whether err means that the server will never accept the result in f.
func (a *attempt) refusedResult(ctx context.Context, f perdure.TaskFinish, err error) bool {
	return err != nil && f.Error == nil && ctx.Err() == nil && !late(err) && !forNow(err) && !denied(err)
}

// withoutResult returns f with err as the failure of the attempt, in place of the result that the server
// refused. The failure is permanent, because a repetition of the code would produce the same result.
func withoutResult(f perdure.TaskFinish, err error) perdure.TaskFinish {
	failure := *failureOf(err)
	failure.Permanent = true
	f.Result, f.Error = perdure.Payload{}, &failure
	return f
}
