package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/longtest"
)

// forger derives invalid positions and ids from valid ones.
type forger struct{ *rand.Rand }

func newForger(t *testing.T) forger {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return forger{rand.New(rand.NewPCG(seed, 0))}
}

// of returns a mutation of the string `value`. Usually only a few bytes differ.
func (f forger) of(value string) string {
	raw := []byte(value)
	switch f.IntN(8) {
	case 0:
		return value + string(rune('0'+f.IntN(75)))
	case 1:
		return value[:f.IntN(len(value)+1)]
	case 2:
		return []string{"", "0", "-1", "now", "null", "%00", "../..", "9223372036854775808", "'; --", "\x00", "é", strings.Repeat("A", 300)}[f.IntN(12)]
	case 3:
		if inside, err := base64.RawURLEncoding.DecodeString(value); err == nil && len(inside) > 0 {
			inside[f.IntN(len(inside))] ^= 1 << f.IntN(8)
			return base64.RawURLEncoding.EncodeToString(inside)
		}
	}
	for range 1 + f.IntN(3) {
		if len(raw) > 0 {
			raw[f.IntN(len(raw))] = "ABCyz-_019=.\x7f"[f.IntN(13)]
		}
	}
	return string(raw)
}

// positions returns valid cursors of lists, logs and streams of the org acme, and ids of its
// objects.
func (w *world) positions() []string {
	w.Helper()
	found := map[string]bool{}
	inBody := regexp.MustCompile(`"(?:nextCursor|cursor|last_id|first_id)":"([^"]+)"`)
	inHead := regexp.MustCompile(`(?m)^(?:Stream-Next-Offset|Stream-Cursor|Etag): "?([^"\r]+)`)
	for name, r := range routes {
		if !strings.HasPrefix(name, "GET ") || r.needs == "" || strings.HasSuffix(name, "/ws") {
			continue
		}
		for _, query := range []string{"limit=1", "limit=1&all=true", r.query} {
			a := w.requestWith(name, w.keys["acme admin"], query)
			for _, m := range append(inBody.FindAllStringSubmatch(a.body, -1), inHead.FindAllStringSubmatch(a.head, -1)...) {
				found[m[1]] = true
			}
		}
	}
	for _, what := range []string{"id", "entryId", "response", "key", "definition"} {
		found[w.names[what]] = true
	}
	if len(found) < 10 {
		w.Fatalf("only %d positions were given: %v", len(found), found)
	}
	return slices.Sorted(maps.Keys(found))
}

// requestWith is like request, but the query is `query` instead of the query in the table, and
// there is no body.
func (w *world) requestWith(name, key, query string, headers ...string) answer {
	w.Helper()
	r := routes[name]
	method, path, _ := strings.Cut(name, " ")
	names := maps.Clone(w.names)
	if r.ids != "" {
		names["id"] = names[r.ids]
	}
	for what, value := range names {
		path = strings.ReplaceAll(path, "{"+what+"}", value)
	}
	return w.ask(key, method, path+"?"+query, "", headers...)
}

// TestForgedPositions checks that a cursor that is mutated, or that belongs to another org or list,
// causes no internal error. A refusal has the documented shape. A response to another org never
// contains data of the org acme.
func TestForgedPositions(t *testing.T) {
	longtest.Skip(t, "seconds")
	w := newWorld(t)
	f := newForger(t)
	given := w.positions()
	var reads []string
	for name, r := range routes {
		if strings.HasPrefix(name, "GET ") && r.needs != "" && !strings.HasSuffix(name, "/ws") {
			reads = append(reads, name)
		}
	}
	slices.Sort(reads)
	parameters := []string{"cursor", "after", "after_seq", "before", "offset", "limit", "entries", "epoch"}
	for range 600 {
		name, who, position := reads[f.IntN(len(reads))], "rival admin", given[f.IntN(len(given))]
		if f.IntN(3) > 0 {
			position = f.of(position)
		}
		if f.IntN(3) == 0 {
			who = "acme admin"
		}
		query := parameters[f.IntN(len(parameters))] + "=" + url.QueryEscape(position)
		if strings.Contains(name, "/v1/stream") && !strings.HasPrefix(query, "offset=") {
			query += "&offset=" + url.QueryEscape(given[f.IntN(len(given))])
		}
		var headers []string
		if clean := strings.Map(printable, position); f.IntN(3) == 0 {
			headers = []string{[]string{"Last-Event-ID", "If-None-Match", "Stream-Cursor"}[f.IntN(3)], clean}
		}
		a := w.requestWith(name, w.keys[who], query, headers...)
		w.documented(fmt.Sprintf("%s?%s %q as %s", name, query, headers, who), a)
		if strings.HasPrefix(who, "rival") && w.tells(a) {
			t.Errorf("%s?%s tells another org: %s", name, query, a.body)
		}
	}
}

func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return -1
	}
	return r
}

// TestForgedIDs checks that requests with ids that are mutated, or that belong to another org or
// type, cause no internal error. They neither change data of the org acme nor return it to another
// org.
func TestForgedIDs(t *testing.T) {
	w := newWorld(t)
	f := newForger(t)
	before := w.everything()
	known := []string{"id", "entryId", "sha256", "response", "definition", "spare", "key", "task", "blob"}
	all := slices.Sorted(maps.Keys(routes))
	for range 400 {
		name := all[f.IntN(len(all))]
		if routes[name].needs == "" || strings.HasSuffix(name, "/ws") || !strings.Contains(strings.ReplaceAll(name, "{org}", ""), "{") || strings.Contains(name, "{path}") || strings.Contains(name, "{slug}") {
			continue
		}
		names := maps.Clone(w.names)
		for _, what := range known {
			names[what] = url.PathEscape(f.of(w.names[known[f.IntN(len(known))]]))
			if names[what] == "" || names[what] == "." || names[what] == ".." {
				names[what] = uuid.NewString()
			}
		}
		who := "rival admin"
		if strings.HasPrefix(name, "GET ") && f.IntN(2) == 0 {
			who = "acme client" // who may change the object if the mutated id happens to be valid
		}
		a := w.request(name, w.keys[who], names)
		w.documented(fmt.Sprintf("%s of %v as %s", name, names, who), a)
		if strings.HasPrefix(who, "rival") && w.tells(a) {
			t.Errorf("%s of %v tells another org: %s", name, names, a.body)
		}
	}
	if after := w.everything(); after != before {
		t.Errorf("what acme has was changed:\n%s\nbefore:\n%s", after, before)
	}
}

// tells reports whether a response contains data of the org acme. It ignores the path and the slug
// of the request, because an error may repeat them.
func (w *world) tells(a answer) bool {
	asked := strings.NewReplacer(w.names["path"], "", w.names["slug"], "")
	return strings.Contains(asked.Replace(a.body+a.head), canary)
}

// documented checks that a response is not an internal error, and that a refusal has an error in
// the form of docs/api.md or of the Responses API.
func (w *world) documented(what string, a answer) {
	w.Helper()
	if a.status >= 500 && a.status != http.StatusNotImplemented {
		w.Errorf("%s: %d %s", what, a.status, a.body)
	}
	if a.status < 400 {
		return
	}
	var p struct {
		Code  string
		Error *struct{ Message, Type string } // the form of errors of the Responses API
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil && a.body != "" || p.Code == "" && (p.Error == nil || p.Error.Message == "") {
		w.Errorf("%s: %d, and no problem: %s", what, a.status, a.body)
	}
}
