package durablestream

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/perdure/perdure"
)

// Refusal is an error whose HTTP status and headers the protocol defines. The headers tell the
// client what to do.
type Refusal struct {
	Status int
	Code   perdure.Code
	Detail string
	Header map[string]string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Detail }

func refuse(status int, code perdure.Code, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Code: code, Detail: fmt.Sprintf(format, args...), Header: map[string]string{}}
}

func (r *Refusal) with(name, value string) *Refusal {
	r.Header[name] = value
	return r
}

func (r *Refusal) number(name string, n int64) *Refusal {
	return r.with(name, strconv.FormatInt(n, 10))
}

// Gone returns the refusal of a read from an offset that is no longer valid: the content after the
// offset was pruned, or the stream has been replaced by other content.
func Gone(why string) *Refusal {
	return refuse(http.StatusGone, perdure.NotFound, "%s; begin with offset=-1", why)
}

// NotHere returns the refusal of a request for a feature that the protocol defines but this
// server does not support.
func NotHere(what string) *Refusal {
	return refuse(http.StatusNotImplemented, perdure.InvalidArgument, "%s: this server does not do that", what)
}

// BadOffset returns the error for an offset that the server never issued.
func BadOffset() error {
	return perdure.FieldErrorf("offset", "is none that this stream gave")
}

func noStream(path string) error {
	return perdure.Errorf(perdure.NotFound, "there is no stream %s", path)
}
