package pbconv

import (
	"context"
	"errors"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
)

// statusOf is the one table from the domain's codes to gRPC's. The exact code
// travels beside it as a detail.
var statusOf = map[perdure.Code]grpccodes.Code{
	perdure.InvalidArgument:      grpccodes.InvalidArgument,
	perdure.NotFound:             grpccodes.NotFound,
	perdure.AlreadyExists:        grpccodes.AlreadyExists,
	perdure.LeaseLost:            grpccodes.Aborted,
	perdure.ExecutionEnded:       grpccodes.FailedPrecondition,
	perdure.InvalidTranscript:    grpccodes.FailedPrecondition,
	perdure.IdempotencyKeyReused: grpccodes.FailedPrecondition,
	perdure.StepNameReused:       grpccodes.FailedPrecondition,
	// Not ResourceExhausted, which clients take for worth trying again.
	perdure.PayloadTooLarge:  grpccodes.OutOfRange,
	perdure.Conflict:         grpccodes.Aborted,
	perdure.Unauthenticated:  grpccodes.Unauthenticated,
	perdure.PermissionDenied: grpccodes.PermissionDenied,
	perdure.RateLimited:      grpccodes.ResourceExhausted,
	perdure.Unavailable:      grpccodes.Unavailable,
	perdure.Internal:         grpccodes.Internal,
}

// codeOfStatus reads a status that came without our detail: from gRPC itself,
// or from something between client and server.
var codeOfStatus = map[grpccodes.Code]perdure.Code{
	grpccodes.InvalidArgument:    perdure.InvalidArgument,
	grpccodes.NotFound:           perdure.NotFound,
	grpccodes.AlreadyExists:      perdure.AlreadyExists,
	grpccodes.FailedPrecondition: perdure.Conflict,
	grpccodes.Aborted:            perdure.Conflict,
	grpccodes.OutOfRange:         perdure.PayloadTooLarge,
	// gRPC gives it for a message over its limit.
	grpccodes.ResourceExhausted: perdure.PayloadTooLarge,
	grpccodes.Unauthenticated:   perdure.Unauthenticated,
	grpccodes.PermissionDenied:  perdure.PermissionDenied,
	grpccodes.Unavailable:       perdure.Unavailable,
	// A call of ours that the server's end cancelled: it stops.
	grpccodes.Canceled:         perdure.Unavailable,
	grpccodes.DeadlineExceeded: perdure.Unavailable,
}

// Status returns the status that carries e whole, but for its cause.
func Status(e *perdure.Error) *status.Status {
	code, ok := statusOf[e.Code]
	if !ok {
		code = grpccodes.Unknown
	}
	s := status.New(code, text(e.Message))
	details := []protoadapt.MessageV1{protoadapt.MessageV1Of(ErrorToProto(e))}
	if e.RetryAfter > 0 { // said again for clients that know gRPC's own details only
		details = append(details, protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}))
	}
	if detailed, err := s.WithDetails(details...); err == nil {
		return detailed
	}
	return s
}

// FromStatus gives back the error that a status carries. A coded error and the
// end of a context are themselves; what is no status of ours gets the nearest
// code, and stays as the cause.
func FromStatus(err error) error {
	var coded *perdure.Error
	if err == nil || errors.As(err, &coded) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	for _, detail := range s.Details() {
		if m, ok := detail.(*perdurev1.Error); ok {
			return ErrorFromProto(m)
		}
	}
	code, ok := codeOfStatus[s.Code()]
	if !ok {
		code = perdure.Internal
	}
	return &perdure.Error{Code: code, Message: s.Message(), Err: err}
}

// ErrorToProto converts an error without its cause; nil stays nil.
func ErrorToProto(e *perdure.Error) *perdurev1.Error {
	if e == nil {
		return nil
	}
	m := &perdurev1.Error{Message: text(e.Message), RetryAfter: durationToProto(e.RetryAfter)}
	m.Code, m.OtherCode = codeToProto(e.Code)
	m.Fields = each(e.Fields, func(f perdure.FieldError) *perdurev1.FieldError {
		return &perdurev1.FieldError{Location: text(f.Location), Message: text(f.Message)}
	})
	return m
}

// ErrorFromProto converts it back. A code that this version does not know is
// internal.
func ErrorFromProto(m *perdurev1.Error) *perdure.Error {
	if m == nil {
		return nil
	}
	var d decoder
	e := &perdure.Error{
		Code: d.code("code", m.GetCode(), m.GetOtherCode()), Message: m.GetMessage(),
		RetryAfter: d.duration("retry_after", m.GetRetryAfter()),
	}
	if d.err != nil {
		e.Code = perdure.Internal
	}
	e.Fields = each(m.GetFields(), func(f *perdurev1.FieldError) perdure.FieldError {
		return perdure.FieldError{Location: f.GetLocation(), Message: f.GetMessage()}
	})
	return e
}

// codeToProto returns the enum, or the name where the enum lacks it: a task's
// error may carry a code of the application's own.
func codeToProto(c perdure.Code) (perdurev1.ErrorCode, string) {
	if number, ok := codes.to[c]; ok {
		return number, ""
	}
	return 0, text(string(c))
}

func (d *decoder) code(field string, number perdurev1.ErrorCode, other string) perdure.Code {
	if other != "" {
		return perdure.Code(other)
	}
	return read(d, codes, field, number)
}

func codePtrToProto(c *perdure.Code) (perdurev1.ErrorCode, *string) {
	if c == nil {
		return 0, nil
	}
	number, other := codeToProto(*c)
	if number != 0 {
		return number, nil
	}
	return 0, &other
}

func (d *decoder) codePtr(field string, number perdurev1.ErrorCode, other *string) *perdure.Code {
	if number == 0 && other == nil {
		return nil
	}
	var name string
	if other != nil {
		name = *other
	}
	c := d.code(field, number, name)
	return &c
}

func textPtr(s *string) *string {
	if s == nil {
		return nil
	}
	clean := text(*s)
	return &clean
}
