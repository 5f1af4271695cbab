package server_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/longtest"
)

// audits returns the number of records in the org's audit log.
func (w *world) audits(org string) (n int) {
	w.Helper()
	for _, err := range w.client(org, "admin").Audit(w.Context()) {
		w.must(err)
		n++
	}
	return n
}

// TestEveryChangeIsOneRecord calls every operation of the API that needs a key. The following
// operations must write one audit record each: a change of a key, a definition, the retention, a
// session or a webhook; the pause or resumption of a queue; an answer to a question; the revocation
// of a grant; the start of a bulk action. Other operations, refused operations, and repeated DELETE
// and PATCH requests, which change nothing, must write none.
func TestEveryChangeIsOneRecord(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := newWorld(t)
	tried := 0
	for _, name := range slices.SortedFunc(maps.Keys(routes), last) {
		method, path, _ := strings.Cut(name, " ")
		if method == "GET" || method == "HEAD" || routes[name].needs == "" {
			continue
		}
		changes := strings.Contains(path, "/keys") || strings.Contains(path, "/agent-definitions") || strings.HasSuffix(path, "/retention") || strings.Contains(path, "/sessions") || strings.Contains(path, "/questions") || strings.Contains(path, "/queues") ||
			strings.Contains(path, "/approval-grants") || strings.HasSuffix(path, "/actions") ||
			strings.Contains(path, "/webhooks") && !strings.HasSuffix(path, "/test") && !strings.HasSuffix(path, "/resend")
		for _, c := range []struct {
			who  string
			want int
		}{{"acme revoked", 0}, {"rival admin", 0}, {"acme worker", 0}, {"acme admin", map[bool]int{true: 1}[changes]}} {
			before := w.audits("acme")
			a := w.request(name, w.keys[c.who], w.names)
			if got := w.audits("acme") - before; got != c.want || c.want == 1 && a.status >= 300 {
				t.Errorf("%s as %s is answered %d, and leaves %d records, want %d", name, c.who, a.status, got, c.want)
			}
			tried += c.want
		}
		// The operation is repeated. It must change nothing.
		before := w.audits("acme")
		again := w.request(name, w.keys["acme admin"], w.names)
		same := method == "DELETE" || method == "PATCH"
		if got := w.audits("acme") - before; changes && same && got != 0 {
			t.Errorf("%s again is answered %d, and leaves %d records", name, again.status, got)
		}
	}
	if tried < 8 {
		t.Errorf("only %d operations change something", tried)
	}
}
