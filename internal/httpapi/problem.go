package httpapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// codes is the table of errors: the HTTP status and the meaning of each code.
var codes = []struct {
	code   perdure.Code
	status int
	title  string
}{
	{perdure.InvalidArgument, http.StatusBadRequest, "A field is missing or wrong"},
	{perdure.Unauthenticated, http.StatusUnauthorized, "No valid key was given"},
	{perdure.PermissionDenied, http.StatusForbidden, "The key may not do this"},
	{perdure.NotFound, http.StatusNotFound, "There is no such thing"},
	{perdure.AlreadyExists, http.StatusConflict, "It exists already"},
	{perdure.ExecutionEnded, http.StatusConflict, "The execution has ended"},
	{perdure.LeaseLost, http.StatusConflict, "The lease is over"},
	{perdure.Conflict, http.StatusConflict, "It was changed meanwhile"},
	{perdure.StepNameReused, http.StatusConflict, "A step's name was used twice"},
	{perdure.PayloadTooLarge, http.StatusRequestEntityTooLarge, "The content is too large"},
	{perdure.InvalidTranscript, http.StatusUnprocessableEntity, "The conversation would become invalid"},
	{perdure.IdempotencyKeyReused, http.StatusUnprocessableEntity, "The idempotency key was used for something else"},
	{perdure.RateLimited, http.StatusTooManyRequests, "Too much at once"},
	{perdure.Unavailable, http.StatusServiceUnavailable, "Try again"},
	{perdure.Internal, http.StatusInternalServerError, "An error inside the server"},
}

// problem is the body of every error response (RFC 9457).
type problem struct {
	Type   string               `json:"type" format:"uri-reference" doc:"Where the code is described."`
	Title  string               `json:"title" doc:"What the code means."`
	Status int                  `json:"status" doc:"The HTTP status."`
	Detail string               `json:"detail" doc:"What happened this time."`
	Code   perdure.Code         `json:"code" doc:"The machine-readable name of the error."`
	Errors []perdure.FieldError `json:"errors" nullable:"false" doc:"The fields at fault."`

	retryAfter time.Duration // 0 omits Retry-After
}

// GetHeaders implements [huma.HeadersError].
func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retryAfter > 0 {
		h.Set("Retry-After", retrySeconds(p.retryAfter))
	}
	return h
}

// retrySeconds returns a pause as the value of Retry-After: whole seconds, rounded up.
func retrySeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// Error implements error.
func (p *problem) Error() string { return p.Detail }

// GetStatus returns the HTTP status.
func (p *problem) GetStatus() int { return p.Status }

// ContentType returns the media type of RFC 9457.
func (p *problem) ContentType(string) string { return "application/problem+json" }

func newProblem(code perdure.Code, detail string, fields ...perdure.FieldError) *problem {
	p := &problem{Detail: detail, Code: code, Errors: fields}
	if p.Errors == nil {
		p.Errors = []perdure.FieldError{}
	}
	for _, row := range codes {
		if row.code == code {
			p.Status, p.Title, p.Type = row.status, row.title, "/docs#"+string(code)
			return p
		}
	}
	return newProblem(perdure.Internal, detail, fields...)
}

// problemOf converts an error to a problem. The text of an internal error is not sent to the
// client; the client gets an id that identifies the error in the server's log.
func (s *server) problemOf(ctx context.Context, err error) *problem {
	var coded *perdure.Error
	switch {
	case errors.As(err, &coded) && coded.Code != perdure.Internal:
		if coded.Code == perdure.Unavailable {
			s.lines(ctx).WarnContext(ctx, "unavailable", slog.Any("error", err))
		}
		p := newProblem(coded.Code, coded.Message, coded.Fields...)
		p.retryAfter = coded.RetryAfter
		return p
	case ctx.Err() != nil:
		return newProblem(perdure.Unavailable, "the request was given up before it was answered")
	}
	id := uuid.NewString()
	s.lines(ctx).ErrorContext(ctx, "internal error", slog.String("error_id", id), slog.Any("error", err))
	return newProblem(perdure.Internal, "an error inside the server; it is in the server's log as "+id)
}

// write responds with a problem outside of huma.
func (p *problem) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	for name, values := range p.GetHeaders() {
		w.Header()[name] = values
	}
	w.WriteHeader(p.Status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(p) // fails only if the client has disconnected
}

// init replaces huma's errors by problems. The hook is a package variable.
func init() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return refusal(status, message, errs)
	}
}

// refusal converts huma's validation errors to a problem. The code is invalid_argument with the
// wrong fields, unless the request is too large.
func refusal(status int, message string, errs []error) *problem {
	if status == http.StatusRequestEntityTooLarge {
		return tooLarge()
	}
	if status == http.StatusInternalServerError && message != "cannot read request body" {
		return newProblem(perdure.Internal, "an error inside the server")
	}
	var fields []perdure.FieldError
	var texts []string
	for _, err := range errs {
		if err == nil {
			continue
		}
		f := fieldOf(err)
		fields = append(fields, f)
		texts = append(texts, f.Location+": "+f.Message)
	}
	if len(fields) == 0 {
		fields, texts = []perdure.FieldError{{Location: "body", Message: message}}, []string{message}
	}
	return newProblem(perdure.InvalidArgument, strings.Join(texts, "; "), fields...)
}

func tooLarge() *problem {
	return newProblem(perdure.PayloadTooLarge, "the body is over 8 MiB")
}

var missingProperty = regexp.MustCompile(`^expected required property (\S+) to be present$`)

// fieldOf names a field as the body or the URL does, without the part of the request.
func fieldOf(err error) perdure.FieldError {
	var detail *huma.ErrorDetail
	if !errors.As(err, &detail) {
		return perdure.FieldError{Location: "body", Message: err.Error()}
	}
	f := perdure.FieldError{Location: detail.Location, Message: detail.Message}
	if m := missingProperty.FindStringSubmatch(f.Message); m != nil {
		f.Location, f.Message = f.Location+"."+m[1], "is missing"
	}
	if text, ok := strings.CutPrefix(f.Message, refusedMark); ok {
		at, message, _ := strings.Cut(text, "\n")
		return perdure.FieldError{Location: cmp.Or(at, "body"), Message: message}
	}
	if _, inside, ok := strings.Cut(f.Location, "."); ok {
		f.Location = inside
	}
	return f
}
