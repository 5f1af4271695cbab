package grpcapi

import (
	"context"
	"strings"
	"time"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/internal/fair"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Principal is the identity of the owner of a key.
type Principal struct {
	Org  string
	Role perdure.KeyRole
	// Embedded is set if the worker runs inside the server's process.
	Embedded bool
	// Key is the key whose limits apply to the calls, or nil.
	Key *perdure.APIKey
}

// Authenticator returns the owner of a bearer token. Errors: unauthenticated, unavailable.
type Authenticator interface {
	Authenticate(ctx context.Context, bearer string) (Principal, error)
}

// Limiter is implemented by an Authenticator that also limits the rate of a key's calls. Heartbeats
// are never limited, because a worker that sends none loses its leases.
type Limiter interface {
	// Request counts a call of the key. Error: rate_limited if the key has made too many calls.
	Request(key *perdure.APIKey) error
}

// access authenticates workers. It adds the caller to the context of each call.
type access struct {
	backend Backend
	auth    Authenticator
	recheck time.Duration
	answers errorConverter
	share   *fair.Share
}

// caller is the authenticated worker that made a call, with the Dispatch of its org.
type caller struct {
	Principal
	perdure.Dispatch
}

type callerKey struct{}

// callerOf returns the caller that `access` has added to the context.
func callerOf(ctx context.Context) caller { return ctx.Value(callerKey{}).(caller) }

func (a access) unary(ctx context.Context, m any, call *grpc.UnaryServerInfo, next grpc.UnaryHandler) (reply any, err error) {
	ctx = withSubject(ctx, m)
	defer a.answers.end(ctx, call.FullMethod, &err)
	if isHealth(call.FullMethod) {
		return next(ctx, m)
	}
	ctx, bearer, err := a.admit(ctx, call.FullMethod)
	if err != nil {
		return nil, err
	}
	if long[call.FullMethod] {
		watched, stop := a.watch(ctx, bearer)
		defer stop()
		ctx = watched
	}
	visit := a.share.Visit(callerOf(ctx).Org)
	ctx = fair.With(ctx, visit)
	defer visit.Leave()
	if err := enter(ctx, visit, call.FullMethod); err != nil {
		return nil, causeOf(ctx, err)
	}
	reply, err = next(ctx, m)
	return reply, causeOf(ctx, err)
}

// enter waits until a call may compute in its org's share of the processor. A heartbeat does not
// wait. A poll waits only until the org has processor time left, and occupies no place while it
// waits for work.
func enter(ctx context.Context, visit *fair.Visit, method string) error {
	switch {
	case method == perdurev1.WorkerDispatch_Heartbeat_FullMethodName:
		return nil
	case long[method]:
		visit.Charge(pollCost)
		return visit.Afford(ctx)
	}
	return visit.Enter(ctx)
}

// pollCost is the approximate processor time of a poll, without the commands that it runs.
const pollCost = 50 * time.Microsecond

// long contains the unary calls that wait for work.
var long = map[string]bool{
	perdurev1.AgentDispatch_PollAgent_FullMethodName: true,
	perdurev1.WorkerDispatch_PollTask_FullMethodName: true,
}

func (a access) stream(server any, s grpc.ServerStream, call *grpc.StreamServerInfo, next grpc.StreamHandler) (err error) {
	named := withSubject(s.Context(), nil)
	defer a.answers.end(named, call.FullMethod, &err)
	if isHealth(call.FullMethod) {
		return next(server, s)
	}
	ctx, bearer, err := a.admit(named, call.FullMethod)
	if err != nil {
		return err
	}
	ctx, stop := a.watch(ctx, bearer)
	defer stop()
	ctx = fair.With(ctx, a.share.Visit(callerOf(ctx).Org)) // the org is charged for the commands of the stream
	return causeOf(ctx, next(server, &callerStream{ServerStream: s, ctx: ctx}))
}

// callerStream is a gRPC stream whose context contains the caller.
type callerStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *callerStream) Context() context.Context { return s.ctx }

// uncounted contains the calls that do not count towards the limit of calls of a key.
var uncounted = map[string]bool{perdurev1.WorkerDispatch_Heartbeat_FullMethodName: true}

// admit authenticates the caller. Errors: unauthenticated, permission_denied, rate_limited, and
// those of the Authenticator.
func (a access) admit(ctx context.Context, method string) (context.Context, string, error) {
	bearer, err := bearerOf(ctx)
	if err != nil {
		return ctx, "", err
	}
	who, err := a.check(ctx, bearer)
	if err != nil {
		return ctx, "", err
	}
	if l, limited := a.auth.(Limiter); limited && who.Key != nil && !uncounted[method] {
		if err := l.Request(who.Key); err != nil {
			return ctx, "", err
		}
	}
	about(ctx, who.Org)
	return context.WithValue(ctx, callerKey{}, caller{who, a.backend.Dispatch(who.Org)}), bearer, nil
}

func (a access) check(ctx context.Context, bearer string) (Principal, error) {
	who, err := a.auth.Authenticate(ctx, bearer)
	if err != nil {
		return who, err
	}
	if who.Role != perdure.KeyWorker && who.Role != perdure.KeyAdmin {
		return who, perdure.Errorf(perdure.PermissionDenied,
			"the key has the role %s; workers need a key of the role worker or admin", who.Role)
	}
	return who, nil
}

func bearerOf(ctx context.Context) (string, error) {
	meta, _ := metadata.FromIncomingContext(ctx)
	for _, value := range meta.Get("authorization") {
		scheme, bearer, found := strings.Cut(value, " ")
		if found && strings.EqualFold(scheme, "Bearer") && bearer != "" {
			return bearer, nil
		}
	}
	return "", perdure.Errorf(perdure.Unauthenticated, `the call has no key; send the metadata "authorization: Bearer KEY"`)
}

// OrgMetadata is the metadata key for the name of an org. A worker that uses the token of the data
// directory sends the org that it works for.
const OrgMetadata = "perdure-org"

// OrgOf returns the org in the metadata of a call; "" if the call names none.
func OrgOf(ctx context.Context) string {
	meta, _ := metadata.FromIncomingContext(ctx)
	if named := meta.Get(OrgMetadata); len(named) > 0 {
		return named[0]
	}
	return ""
}

// watch checks at intervals during a call whether the bearer token is still valid. If the token is
// not valid, the returned context ends with the refusal as its cause. The caller must call the
// returned function at the end of the call.
func (a access) watch(ctx context.Context, bearer string) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(a.recheck)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			// Only a refused token ends the call, not a failed check.
			if _, err := a.check(ctx, bearer); refused(err) {
				cancel(err)
				return
			}
		}
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-done
	}
}

func refused(err error) bool {
	return perdure.IsCode(err, perdure.Unauthenticated) || perdure.IsCode(err, perdure.PermissionDenied)
}

// causeOf returns the refusal that ended ctx, or err if ctx was not ended by a refusal.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); refused(cause) {
		return cause
	}
	return err
}
