package operation

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/problem"
)

// init makes huma report errors as Perdure's problems instead of huma's own error type. huma
// offers this hook only as a package variable.
func init() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return problemOf(status, message, errs)
	}
}

// problemOf converts huma's validation errors to a problem. The code is invalid_argument, with an
// error for each wrong field, unless the request is too large.
func problemOf(status int, message string, errs []error) *problem.Problem {
	if status == http.StatusRequestEntityTooLarge {
		return problem.TooLarge()
	}
	if status == http.StatusInternalServerError && message != "cannot read request body" {
		return problem.New(perdure.Internal, "an error inside the server")
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
	return problem.New(perdure.InvalidArgument, strings.Join(texts, "; "), fields...)
}

var missingProperty = regexp.MustCompile(`^expected required property (\S+) to be present$`)

// fieldOf converts huma's detail of a wrong field to a field error. huma's name of a field begins
// with the place of the field in the request, such as "body". fieldOf removes this beginning.
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
