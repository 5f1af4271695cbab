package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Error is an error in the JSON shape that OpenAI's API defines.
type Error struct {
	Status  int     `json:"-"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`

	retryAfter time.Duration // value of the header Retry-After; 0 omits it
	final      bool          // tells clients not to repeat the request (X-Should-Retry: false)
}

// After sets the pause after which the client may repeat the request, and returns e.
func (e *Error) After(pause time.Duration) *Error {
	e.retryAfter = pause
	return e
}

func (e *Error) Error() string { return e.Message }

// WriteTo responds to a request with the error.
func (e *Error) WriteTo(w http.ResponseWriter) {
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((e.retryAfter+time.Second-1)/time.Second), 10))
	}
	if e.final {
		w.Header().Set("X-Should-Retry", "false")
	}
	writeJSON(w, e.Status, map[string]*Error{"error": e})
}

// codeContextLength is the code of the error for a conversation that is too long for the model.
const codeContextLength = "context_length_exceeded"

// finally marks e so that OpenAI's official clients do not repeat the request, and returns e.
func (e *Error) finally() *Error {
	e.final = true
	return e
}

// The values of an error's member type.
const (
	typeInvalid    = "invalid_request_error"
	typeServer     = "server_error"
	typeRate       = "rate_limit_error"
	typeAuth       = "authentication_error"
	typePermission = "permission_error"
)

// invalid returns an error with status 400 about the parameter param.
func invalid(param, code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Type: typeInvalid, Param: &param, Code: &code, Message: fmt.Sprintf(format, args...)}
}

func notFound(format string, args ...any) *Error {
	code := "not_found"
	return &Error{Status: http.StatusNotFound, Type: typeInvalid, Code: &code, Message: fmt.Sprintf(format, args...)}
}

func noResponse(id string) *Error { return notFound("Response with id '%s' not found.", id) }

// codes maps the engine's error codes to errors of this API. A conflict that a retry does not solve
// gets the status 400, because the official clients repeat a request after 409. The errors about
// the answer to a question do have 409, but verdict.refused tells clients not to repeat these
// requests.
var codes = map[perdure.Code]struct {
	status int
	typ    string
}{
	perdure.InvalidArgument:      {http.StatusBadRequest, typeInvalid},
	perdure.InvalidTranscript:    {http.StatusBadRequest, typeInvalid},
	perdure.ExecutionEnded:       {http.StatusBadRequest, typeInvalid},
	perdure.IdempotencyKeyReused: {http.StatusBadRequest, typeInvalid},
	perdure.QuestionDecided:      {http.StatusConflict, typeInvalid},
	perdure.DetailsChanged:       {http.StatusConflict, typeInvalid},
	perdure.AlreadyVoted:         {http.StatusConflict, typeInvalid},
	perdure.QuestionKeyReused:    {http.StatusBadRequest, typeInvalid},
	perdure.AlreadyExists:        {http.StatusBadRequest, typeInvalid},
	perdure.Unsupported:          {http.StatusBadRequest, typeInvalid},
	perdure.Unauthenticated:      {http.StatusUnauthorized, typeAuth},
	perdure.PermissionDenied:     {http.StatusForbidden, typePermission},
	perdure.NotFound:             {http.StatusNotFound, typeInvalid},
	perdure.PayloadTooLarge:      {http.StatusRequestEntityTooLarge, typeInvalid},
	perdure.Conflict:             {http.StatusConflict, typeInvalid},
	perdure.RateLimited:          {http.StatusTooManyRequests, typeRate},
	perdure.Unavailable:          {http.StatusServiceUnavailable, typeServer},
}

// ErrorOf creates an Error for an error code of the engine. If the parameter `status` is 0, the
// status is the one that belongs to the code.
func ErrorOf(code perdure.Code, status int, message string, fields ...perdure.FieldError) *Error {
	e := &Error{Status: status, Type: typeServer, Message: message}
	name := string(code)
	e.Code = &name
	if row, ok := codes[code]; ok {
		e.Type = row.typ
		if status == 0 {
			e.Status = row.status
		}
	}
	if e.Status == 0 {
		e.Status = http.StatusInternalServerError
	}
	if len(fields) > 0 {
		if at := paramOf(fields[0].Location); at != "" {
			e.Param = &at
		}
	}
	return e
}

// params maps names of fields in the engine's errors to names of parameters in OpenAI's API.
var params = map[string]string{
	"config.maxTokens": "max_output_tokens", "config.temperature": "temperature", "config.thinking": "reasoning.effort",
	"models.provider": "model", "models.modelId": "model", "messages": "input", "signalValue.messages": "input",
	"kind": "model", "Idempotency-Key": "Idempotency-Key",
}

// paramOf returns the parameter of OpenAI's API for the name of a field in an error of the engine.
// A field inside a list has the parameter of the list.
func paramOf(field string) string {
	field, _, _ = strings.Cut(field, "[")
	return params[field]
}

// fail responds to a request with an error. The text of an internal error is not sent to the
// client; the client gets an id that identifies the error in the server's log.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	a.errorOf(r, err).WriteTo(w)
}

func (a *API) errorOf(r *http.Request, err error) *Error {
	var mine *Error
	if errors.As(err, &mine) {
		return mine
	}
	var coded *perdure.Error
	switch {
	case errors.As(err, &coded) && coded.Code != perdure.Internal:
		return ErrorOf(coded.Code, 0, coded.Message, coded.Fields...).After(coded.RetryAfter)
	case r.Context().Err() != nil:
		return ErrorOf(perdure.Unavailable, 0, "the request was given up before it was answered")
	}
	id := uuid.NewString()
	a.Logger.ErrorContext(r.Context(), "internal error", slog.String("error_id", id), slog.Any("error", err))
	return ErrorOf(perdure.Internal, 0, "an error inside the server; it is in the server's log as "+id)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // fails only if the client has disconnected
}

// isNotFound reports whether an error is an *Error with status 404.
func isNotFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}
