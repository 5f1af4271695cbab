package httpapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
)

// pruned creates a run, ends it and prunes its log. It returns the events of the path from before
// the pruning.
func pruned(h *house, path string) (id uuid.UUID, before []sse) {
	h.t.Helper()
	r := play(h)
	before = h.follow(h.path(r.id, path)).all()
	h.pruneLogs()
	return r.id, before
}

// pruneLogs prunes the logs of all runs that have ended.
func (h *house) pruneLogs() {
	h.t.Helper()
	h.call("PUT", "/retention", `{"logs":"1ms"}`, "Authorization", "Bearer "+h.admin).want(200, nil)
	h.call("POST", "/agent-executions/prune", `{}`, "Authorization", "Bearer "+h.admin).want(200, nil)
}

// A reader of a pruned log that asks for the start gets a reset, whichever interface it uses.
func TestReadersOfAPrunedLogAreToldFromTheStart(t *testing.T) {
	h := open(t)
	id, before := pruned(h, "/stream/consolidated")
	last := before[len(before)-2]
	check := func(how, reason string, first, newest int64) {
		t.Helper()
		if reason != "truncated" || first != last.seq() || newest != last.seq() {
			t.Errorf("%s: reset %q, from %d to %d; %d alone is left", how, reason, first, newest, last.seq())
		}
	}
	for _, path := range []string{
		"/stream", "/stream/consolidated", "/stream?types=agent.completed", "/stream/consolidated?render=html", "/stream?render=html",
		"/stream?after_seq=0", "/stream/consolidated?after_seq=2", "/stream?render=html&after_seq=0",
	} {
		events := h.follow(h.path(id, path)).all()
		number := func(name string) int64 { n, _ := events[0].fields[name].(float64); return int64(n) }
		reason, _ := events[0].fields["reason"].(string)
		check(path, reason, number("firstAvailable"), number("lastSeq"))
		if len(events) != 3 || events[0].event != "reset" || events[1].event != "agent.completed" || events[2].event != "end" {
			t.Errorf("%s: came\n%s", path, show(events))
		}
	}
	var p struct {
		Items []wsEvent
		Reset *client.Reset
	}
	if h.call("GET", h.path(id, "/events"), "").want(200, &p); p.Reset == nil || len(p.Items) != 1 {
		t.Fatalf("the page is %+v", p)
	}
	check("page", p.Reset.Reason, p.Reset.FirstAvailable, p.Reset.LastSeq)
	for _, ask := range []string{`{"after_seq":0}`, `{"after_seq":3}`, fmt.Sprintf(`{"cursor":%q}`, before[1].id)} {
		m := h.socket(id).load(ask)
		if !m.Data.Stale || m.Data.Reset == nil || len(m.Data.Events) != 1 {
			t.Fatalf("%s: the page is %+v", ask, m.Data)
		}
		check("WebSocket "+ask, m.Data.Reset.Reason, m.Data.Reset.FirstAvailable, m.Data.Reset.LastSeq)
	}
	reset := h.firstReset(id)
	check("Go client", reset.Reason, reset.FirstAvailable, reset.LastSeq)
}

// firstReset returns the first reset that the Go client receives.
func (h *house) firstReset(id uuid.UUID) client.Reset {
	h.t.Helper()
	c, err := client.New(client.Options{BaseURL: h.url, Key: h.client})
	if err != nil {
		h.t.Fatal(err)
	}
	var names []string
	var reset client.Reset
	for e, err := range c.Follow(h.t.Context(), id, "") {
		if err != nil {
			h.t.Fatal(err)
		}
		names = append(names, string(e.Type))
		if e.Type == client.EventReset {
			err = e.Decode(&reset)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
	if got := strings.Join(names, " "); got != "reset agent.completed" {
		h.t.Errorf("the Go client is given %s", got)
	}
	return reset
}

// An event of a filtered stream that begins a seq has the newest shown and omitted seqs before it,
// also if the events before were pruned.
func TestFilteredStreamOfAPrunedLogKeepsItsNumbers(t *testing.T) {
	h := open(t)
	for _, path := range []string{"/stream?types=agent.created,agent.completed,entry.appended", "/stream?types=agent.completed", "/stream/consolidated?types=agent.completed,task.completed", "/stream?render=html"} {
		id, before := pruned(h, path)
		positions := []string{"", "&after_seq=0", "&after_seq=2", fmt.Sprintf("&after_seq=%d", before[len(before)-2].seq()-1)}
		for _, e := range before[:len(before)-2] {
			positions = append(positions, "&after="+e.id)
		}
		all := h.follow(h.path(id, "/stream/consolidated")).all()
		positions = append(positions, "&after="+all[0].id) // directly before the first remaining event
		for _, from := range positions {
			events := h.follow(h.path(id, path+from)).all()
			at := slices.IndexFunc(events, func(e sse) bool { return e.event == "agent.completed" })
			if at < 0 {
				t.Fatalf("%s%s: came\n%s", path, from, show(events))
			}
			if shown, left := events[at].filtered(); events[at].seq() != max(shown, left)+1 || shown != 0 {
				t.Errorf("%s%s: the event is %s", path, from, events[at].data)
			}
		}
	}
}
