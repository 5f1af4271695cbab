package facetest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
)

// Object checks the status of the reply and decodes its body as a JSON object.
func (r Reply) Object(status int) map[string]any {
	r.T.Helper()
	var o map[string]any
	r.Want(status, &o)
	return o
}

// Plain returns the decompressed body of a reply. It fails the test if the reply is not compressed.
func (r Reply) Plain() []byte {
	r.T.Helper()
	if r.Header.Get("Content-Encoding") != "gzip" {
		r.T.Fatalf("the answer of %d bytes is not compressed", len(r.Body))
	}
	z, err := gzip.NewReader(bytes.NewReader(r.Body))
	if err != nil {
		r.T.Fatal(err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		r.T.Fatal(err)
	}
	return raw
}

var (
	UUIDs     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	Times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	Secrets   = regexp.MustCompile(`prd_[A-Za-z0-9_-]+`)
	responses = regexp.MustCompile(`resp_[A-Za-z0-9]+`)
	cursors   = regexp.MustCompile(`"(cursor|nextCursor)":"[A-Za-z0-9_-]+"`)
)

// Shape normalises a response body: it replaces ids by U1, U2 in order of appearance, and times by
// T.
func Shape(body []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, body); err != nil {
		return err.Error()
	}
	seen := map[string]string{}
	s := UUIDs.ReplaceAllStringFunc(b.String(), func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("U%d", len(seen)+1)
		}
		return seen[id]
	})
	s = Secrets.ReplaceAllString(Times.ReplaceAllString(s, "T"), "SECRET")
	return cursors.ReplaceAllString(responses.ReplaceAllString(s, "R"), `"$1":"C"`)
}

// Shape checks that the reply has the status and, after normalisation, the body want.
func (r Reply) Shape(status int, want string) Reply {
	r.T.Helper()
	r.Want(status, nil)
	if got := Shape(r.Body); got != want {
		r.T.Errorf("got  %s\nwant %s", got, want)
	}
	return r
}
