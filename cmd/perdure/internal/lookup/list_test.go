package lookup

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perdure/perdure/client"
)

// TestRunsContinuesAfterAShortPage checks that listRuns continues after a page that is short or empty
// although the list has more runs. A server returns such pages because it examines a limited number of
// runs.
func TestRunsContinuesAfterAShortPage(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		asked = append(asked, q.Get("cursor")+" "+q.Get("limit"))
		fmt.Fprint(w, map[string]string{
			"":    `{"items":[{"kind":"a"}],"nextCursor":"two"}`,
			"two": `{"items":[],"nextCursor":"three"}`, "three": `{"items":[{"kind":"b"},{"kind":"c"}],"nextCursor":"four"}`,
		}[q.Get("cursor")])
	}))
	defer server.Close()
	c, err := client.New(client.Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	p, err := listRuns(t.Context(), c, client.ExecutionFilter{}, client.PageOptions{Limit: 3})
	if err != nil || len(p.Items) != 3 || p.NextCursor == nil || *p.NextCursor != "four" {
		t.Errorf("the runs are %v, %v", p, err)
	}
	if got := fmt.Sprint(asked); got != "[ 3 two 2 three 2]" {
		t.Errorf("asked for %s", got)
	}
}
