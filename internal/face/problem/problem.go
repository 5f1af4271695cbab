// Package problem contains the errors of the HTTP API, as RFC 9457 defines problems.
package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/perdure/perdure"
)

// Meaning describes an error code: its HTTP status and what it means.
type Meaning struct {
	Code   perdure.Code
	Status int
	Title  string
}

// Codes lists all error codes of the API with their meanings.
var Codes = []Meaning{
	{perdure.InvalidArgument, http.StatusBadRequest, "A field is missing or wrong"},
	{perdure.Unauthenticated, http.StatusUnauthorized, "No valid key was given"},
	{perdure.PermissionDenied, http.StatusForbidden, "The key may not do this"},
	{perdure.NotFound, http.StatusNotFound, "There is no such thing"},
	{perdure.AlreadyExists, http.StatusConflict, "It exists already"},
	{perdure.ExecutionEnded, http.StatusConflict, "The execution has ended"},
	{perdure.LeaseLost, http.StatusConflict, "The lease is over"},
	{perdure.Conflict, http.StatusConflict, "It was changed meanwhile"},
	{perdure.StepNameReused, http.StatusConflict, "A step's name was used twice"},
	{perdure.QuestionDecided, http.StatusConflict, "The question has a decision already"},
	{perdure.DetailsChanged, http.StatusConflict, "The question is about other details now"},
	{perdure.AlreadyVoted, http.StatusConflict, "The key has voted already"},
	{perdure.PayloadTooLarge, http.StatusRequestEntityTooLarge, "The content is too large"},
	{perdure.InvalidTranscript, http.StatusUnprocessableEntity, "The conversation would become invalid"},
	{perdure.IdempotencyKeyReused, http.StatusUnprocessableEntity, "The idempotency key was used for something else"},
	{perdure.QuestionKeyReused, http.StatusUnprocessableEntity, "A question's key was used twice"},
	{perdure.RateLimited, http.StatusTooManyRequests, "Too much at once"},
	{perdure.Unavailable, http.StatusServiceUnavailable, "Try again"},
	{perdure.Internal, http.StatusInternalServerError, "An error inside the server"},
	{perdure.Unsupported, http.StatusNotImplemented, "This server does not know what is asked for"},
}

// Problem is the body of every error response (RFC 9457).
type Problem struct {
	Type   string               `json:"type" format:"uri-reference" doc:"Where the code is described."`
	Title  string               `json:"title" doc:"What the code means."`
	Status int                  `json:"status" doc:"The HTTP status."`
	Detail string               `json:"detail" doc:"What happened this time."`
	Code   perdure.Code         `json:"code" doc:"The machine-readable name of the error."`
	Errors []perdure.FieldError `json:"errors" nullable:"false" doc:"The fields at fault."`
	// Question is set if the code is question_decided.
	Question *perdure.Question `json:"question,omitempty" doc:"Of question_decided: the question with its decision."`

	RetryAfter time.Duration `json:"-"` // value of the header Retry-After; 0 omits it
}

// GetHeaders implements [huma.HeadersError].
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", retrySeconds(p.RetryAfter))
	}
	return h
}

// retrySeconds returns a duration as the value of the header Retry-After: whole seconds, rounded
// up.
func retrySeconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus returns the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of RFC 9457.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// New creates a problem with an error code.
func New(code perdure.Code, detail string, fields ...perdure.FieldError) *Problem {
	p := &Problem{Detail: detail, Code: code, Errors: fields}
	if p.Errors == nil {
		p.Errors = []perdure.FieldError{}
	}
	for _, row := range Codes {
		if row.Code == code {
			p.Status, p.Title, p.Type = row.Status, row.Title, "/docs#"+string(code)
			return p
		}
	}
	return New(perdure.Internal, detail, fields...)
}

// Write sends the problem as a response, for handlers that do not use huma.
func (p *Problem) Write(w http.ResponseWriter) {
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

// TooLarge returns the problem for a request body that exceeds the size limit.
func TooLarge() *Problem {
	return New(perdure.PayloadTooLarge, "the body is over 8 MiB")
}
