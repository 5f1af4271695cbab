package adapter_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/llm"
	"github.com/perdure/perdure/llm/internal/adapter"
)

// answering is a transport that returns one body.
type answering string

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(a))), Request: req}, nil
}

func events(t *testing.T, stream string) ([]string, error) {
	t.Helper()
	c := &adapter.Call{API: &adapter.API{Name: "test"}, Config: llm.Config{Client: &http.Client{Transport: answering(stream)}}}
	s := adapter.Post(context.Background(), c, "https://model.example/", http.Header{}, nil, func(data []byte) (string, error) {
		switch text := strings.TrimSuffix(string(data), "\n"); text {
		case "end":
			return "", io.EOF
		case "bad":
			return "", &adapter.EventError{Data: data}
		default:
			return text, nil
		}
	})
	defer func() { _ = s.Close() }()
	var all []string
	for s.Next() {
		all = append(all, s.Current())
	}
	return all, s.Err()
}

// TestEventsAreReadAsTheStandardSays checks that events are read by the rules of the standard, and
// that the stream ends at the terminal event of the API.
func TestEventsAreReadAsTheStandardSays(t *testing.T) {
	for stream, want := range map[string][]string{
		"data: a\n\ndata:b\n\n":               {"a", "b"},
		"data: a\r\n\r\ndata:  b\r\n\r\n":     {"a", " b"},
		"data: a\ndata: b\n\n":                {"a\nb"},
		": c\nevent: e\nid: 1\n\ndata: a\n\n": {"a"},
		"data: a\n\ndata: cut":                {"a"},
		"data: a\n\ndata: end\n\ndata: b\n\n": {"a"},
		"":                                    nil,
	} {
		if got, err := events(t, stream); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", stream, got, err, want)
		}
	}
}

func TestFailuresEndTheEvents(t *testing.T) {
	var event *adapter.EventError
	if got, err := events(t, "data: a\n\ndata: bad\n\ndata: b\n\n"); len(got) != 1 || !errors.As(err, &event) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := events(t, "data: "+strings.Repeat("x", 33<<20)+"\n\n"); err == nil {
		t.Error("a line of any length is read")
	}
}
