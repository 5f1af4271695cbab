package durablestream

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/perdure/perdure"
)

// Refusal is an answer that the protocol gives a status of its own, and headers
// that tell the client what to do.
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

// Gone is the answer to an offset after which nothing can be read any more:
// what follows it is no longer kept, or it was given for another content.
func Gone(why string) *Refusal {
	return refuse(http.StatusGone, perdure.NotFound, "%s; begin with offset=-1", why)
}

// NotHere is the answer to what the protocol knows and this server does not do.
func NotHere(what string) *Refusal {
	return refuse(http.StatusNotImplemented, perdure.InvalidArgument, "%s: this server does not do that", what)
}

// BadOffset is the answer to an offset that no answer gave.
func BadOffset() error {
	return perdure.FieldErrorf("offset", "is none that this stream gave")
}

func noStream(path string) error {
	return perdure.Errorf(perdure.NotFound, "there is no stream %s", path)
}
