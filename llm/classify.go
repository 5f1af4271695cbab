package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxMessage is the maximum number of bytes quoted from a provider's error message.
	maxMessage = 500
	// maxErrorBody is the maximum number of bytes read from an error response.
	maxErrorBody = 64 << 10
)

// CheckStatus returns an *Error for a response with a status of 400 or more, and closes its body.
// For any other status it returns nil and does not read the body. CheckStatus must run before an
// SDK reads the response, because an SDK fails on an error body that its API does not define, such
// as the error page of a proxy.
func CheckStatus(provider string, resp *http.Response) error {
	if resp.StatusCode < http.StatusBadRequest {
		return nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a part of the body is enough
	_ = resp.Body.Close()
	return StatusError(provider, resp.StatusCode, resp.Header, body)
}

// StatusError returns the Error for an HTTP error response. It quotes the first 500 bytes of the
// message in the body. An error of kind Auth quotes nothing, because the message may contain the
// API key.
func StatusError(provider string, status int, header http.Header, body []byte) *Error {
	said := parseErrorBody(body)
	e := &Error{Provider: provider, Status: status, Message: shorten(said.message), RetryAfter: retryAfter(header)}
	e.Kind, e.Retryable = kindOfStatus(status)
	switch said.code {
	case "insufficient_quota": // a retry would fail, too
		e.Retryable = false
	case "content_filter", "content_policy_violation":
		e.Kind, e.Retryable = Refused, false
	}
	if isOverWindow(provider, status, said) {
		e.Kind, e.Retryable = ContextLength, false
	}
	if e.Kind == Auth {
		e.Message = "the provider refused the API key, or the key may not use this model"
		if status == http.StatusPaymentRequired {
			e.Message = "the account at the provider has no credit, or owes a payment"
		}
	}
	if e.Message == "" {
		e.Message = strings.TrimSpace("the provider answered " + strconv.Itoa(status) + " " + http.StatusText(status))
	}
	return e
}

// EventError returns the Error for an error event in the stream of a successful response. An event
// without a known type, code or status becomes a retryable Error of kind Unknown.
func EventError(provider string, data []byte) *Error {
	said := parseErrorBody(Escaped(data))
	status := http.StatusInternalServerError
	if n, err := strconv.Atoi(said.code); err == nil && n >= http.StatusBadRequest {
		status = n
	}
	for _, name := range []string{said.code, said.kind} {
		if s, known := statusOfName[name]; known {
			status = s
			break
		}
		if strings.HasPrefix(name, "invalid_") {
			status = http.StatusBadRequest
			break
		}
	}
	return StatusError(provider, status, http.Header{}, data)
}

// statusOfName maps error types and codes to HTTP statuses.
var statusOfName = map[string]int{
	"image_too_large":           http.StatusBadRequest,
	"image_parse_error":         http.StatusBadRequest,
	"context_length_exceeded":   http.StatusBadRequest,
	"exceed_context_size_error": http.StatusBadRequest,
	"content_filter":            http.StatusBadRequest,
	"content_policy_violation":  http.StatusBadRequest,
	"authentication_error":      http.StatusUnauthorized,
	"invalid_api_key":           http.StatusUnauthorized,
	"billing_error":             http.StatusPaymentRequired,
	"permission_error":          http.StatusForbidden,
	"not_found_error":           http.StatusNotFound,
	"request_too_large":         http.StatusRequestEntityTooLarge,
	"rate_limit_error":          http.StatusTooManyRequests,
	"rate_limit_exceeded":       http.StatusTooManyRequests,
	"insufficient_quota":        http.StatusTooManyRequests,
	"api_error":                 http.StatusInternalServerError,
	"server_error":              http.StatusInternalServerError,
	"service_unavailable":       http.StatusServiceUnavailable,
	"timeout_error":             http.StatusGatewayTimeout,
	"overloaded_error":          529,
}

type errorBody struct{ message, kind, code string }

// parseErrorBody returns the message, type and code of an error body. It reads bodies of these
// forms: {"error": {"message", "type", "code"}}, {"error": "text"}, {"message"}, {"detail"}.
func parseErrorBody(data []byte) errorBody {
	var body map[string]any
	if json.Unmarshal(data, &body) != nil {
		return errorBody{}
	}
	text := func(v any) string {
		switch v := v.(type) {
		case string:
			return v
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
		return ""
	}
	inner, isObject := body["error"].(map[string]any)
	if !isObject {
		inner = body
	}
	said := errorBody{message: text(inner["message"]), kind: text(inner["type"]), code: text(inner["code"])}
	for _, v := range []any{body["error"], body["detail"]} {
		if said.message == "" {
			said.message = text(v)
		}
	}
	return said
}

func kindOfStatus(status int) (kind ErrorKind, retryable bool) {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden:
		return Auth, false
	case http.StatusTooManyRequests:
		return RateLimited, true
	case http.StatusServiceUnavailable, 529:
		return Overloaded, true
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return Timeout, true
	case http.StatusConflict, http.StatusTooEarly:
		return Unknown, true
	}
	if status >= 500 {
		return Unknown, true
	}
	if status >= 400 {
		return InvalidRequest, false
	}
	return Unknown, false
}

// TransportError returns the error of an interrupted call. If ctx has ended, the result is the
// error of ctx. If err wraps an *Error, the result is a copy of that *Error with the provider's
// name. Otherwise the result is a retryable *Error of kind Timeout or Network.
func TransportError(ctx context.Context, provider string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var own *Error
	if errors.As(err, &own) {
		named := *own
		named.Provider = provider
		return &named
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return &Error{Kind: Timeout, Retryable: true, Provider: provider, Message: "the provider did not answer in time", Err: err}
	}
	return &Error{Kind: Network, Retryable: true, Provider: provider, Message: "the connection to the provider broke", Err: err}
}

// retryAfter returns the pause in the header Retry-After-Ms or Retry-After (seconds or a date),
// limited to 24 hours. It returns 0 if neither header is valid. A date is compared with the
// response's header Date, so that a wrong local clock has no effect.
func retryAfter(header http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return clampWait(ms * float64(time.Millisecond))
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return clampWait(seconds * float64(time.Second))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return clampWait(float64(at.Sub(now)))
}

func clampWait(d float64) time.Duration {
	if !(d > 0) { // this form also excludes NaN
		return 0
	}
	return time.Duration(min(d, float64(24*time.Hour)))
}

func shorten(message string) string {
	message = strings.ToValidUTF8(strings.TrimSpace(message), "")
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}
