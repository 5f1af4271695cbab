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

// statusOf maps the codes of package perdure to gRPC's codes. The gRPC status also carries the perdure
// code, as a detail.
var statusOf = map[perdure.Code]grpccodes.Code{
	perdure.InvalidArgument:      grpccodes.InvalidArgument,
	perdure.NotFound:             grpccodes.NotFound,
	perdure.AlreadyExists:        grpccodes.AlreadyExists,
	perdure.LeaseLost:            grpccodes.Aborted,
	perdure.ExecutionEnded:       grpccodes.FailedPrecondition,
	perdure.InvalidTranscript:    grpccodes.FailedPrecondition,
	perdure.IdempotencyKeyReused: grpccodes.FailedPrecondition,
	perdure.StepNameReused:       grpccodes.FailedPrecondition,
	// The code is not ResourceExhausted, because clients retry after ResourceExhausted.
	perdure.PayloadTooLarge:  grpccodes.OutOfRange,
	perdure.Conflict:         grpccodes.Aborted,
	perdure.Unauthenticated:  grpccodes.Unauthenticated,
	perdure.PermissionDenied: grpccodes.PermissionDenied,
	perdure.RateLimited:      grpccodes.ResourceExhausted,
	perdure.Unavailable:      grpccodes.Unavailable,
	perdure.Internal:         grpccodes.Internal,
	perdure.Unsupported:      grpccodes.Unimplemented,

	perdure.QuestionKeyReused: grpccodes.FailedPrecondition,
	perdure.QuestionDecided:   grpccodes.FailedPrecondition,
	perdure.DetailsChanged:    grpccodes.FailedPrecondition,
	perdure.AlreadyVoted:      grpccodes.FailedPrecondition,
}

// codeOfStatus maps gRPC's codes to the codes of package perdure, for a status without the detail that
// carries the perdure code. Such a status comes from gRPC itself, or from a proxy between client and
// server.
var codeOfStatus = map[grpccodes.Code]perdure.Code{
	grpccodes.InvalidArgument:    perdure.InvalidArgument,
	grpccodes.NotFound:           perdure.NotFound,
	grpccodes.AlreadyExists:      perdure.AlreadyExists,
	grpccodes.FailedPrecondition: perdure.Conflict,
	grpccodes.Aborted:            perdure.Conflict,
	grpccodes.OutOfRange:         perdure.PayloadTooLarge,
	// gRPC returns ResourceExhausted for a message over its size limit.
	grpccodes.ResourceExhausted: perdure.PayloadTooLarge,
	grpccodes.Unauthenticated:   perdure.Unauthenticated,
	grpccodes.PermissionDenied:  perdure.PermissionDenied,
	grpccodes.Unavailable:       perdure.Unavailable,
	// gRPC returns Canceled for a call that the server has cancelled because it shuts down.
	grpccodes.Canceled:         perdure.Unavailable,
	grpccodes.DeadlineExceeded: perdure.Unavailable,
}

// Status returns a gRPC status that carries all fields of e except its cause.
func Status(e *perdure.Error) *status.Status {
	code, ok := statusOf[e.Code]
	if !ok {
		code = grpccodes.Unknown
	}
	s := status.New(code, text(e.Message))
	details := []protoadapt.MessageV1{protoadapt.MessageV1Of(ErrorToProto(e))}
	if e.RetryAfter > 0 { // for clients that read only gRPC's own details
		details = append(details, protoadapt.MessageV1Of(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}))
	}
	if detailed, err := s.WithDetails(details...); err == nil {
		return detailed
	}
	return s
}

// FromStatus converts err, the error of a gRPC call. If its status carries a *perdure.Error as a
// detail, FromStatus returns that error. For any other status, it returns a *perdure.Error with the
// code that codeOfStatus has for the status, or internal, and with err as its cause. It returns err
// unchanged if err is nil, a *perdure.Error, the error of a context that has ended, or an error
// without a status.
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

// ErrorToProto converts an error to its message, without its cause; nil is converted to nil.
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

// ErrorFromProto converts an error from its message; nil is converted to nil. A code that this version
// does not know becomes internal.
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

// codeToProto returns the number of a code in the enum ErrorCode. For a code that the enum lacks,
// codeToProto returns 0 and the code as text: the application may define codes for errors of its
// tasks.
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
