package client

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// without returns a client of a server without workers. The server refuses the given number of
// starts, because no worker has registered, and accepts further starts. The error of a refused
// start is unavailable, and names the given field.
func without(t *testing.T, refusals int, field string) (c *Client, pauses *[]time.Duration, asked *int) {
	t.Helper()
	asked = new(int)
	c, pauses = newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if *asked++; *asked > refusals {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "{}")
			return
		}
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_ = json.NewEncoder(w).Encode(map[string]any{"code": "unavailable", "detail": "none", "errors": []perdure.FieldError{{Location: field}}})
	}))
	return c, pauses, asked
}

// TestStartWaitsForTheFirstWorker checks that Start waits at most ten seconds for the first worker of
// the org, and calls Waits once. Each pause is as long as the header Retry-After says. Other errors
// with the code unavailable are returned to the caller at once.
func TestStartWaitsForTheFirstWorker(t *testing.T) {
	for name, test := range map[string]struct {
		refusals      int
		field         string
		pauses, waits int
		code          perdure.Code
	}{
		"a worker is there":  {0, "kind", 0, 0, ""},
		"a worker comes":     {3, "kind", 3, 1, ""},
		"none comes":         {100, "kind", 10, 1, perdure.Unavailable},
		"it is another want": {1, "", 0, 0, perdure.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			c, pauses, asked := without(t, test.refusals, test.field)
			waits := 0
			_, err := c.Start(t.Context(), StartRequest{UserPrompt: "x", Waits: func() { waits++ }})
			if perdure.CodeOf(err) != test.code || len(*pauses) != test.pauses || waits != test.waits || *asked != test.pauses+1 {
				t.Errorf("%v after %d requests and the pauses %v; it said %d times that it waits", err, *asked, *pauses, waits)
			}
			for _, pause := range *pauses {
				if pause != time.Second {
					t.Errorf("it paused for %s", pause)
				}
			}
		})
	}
}
