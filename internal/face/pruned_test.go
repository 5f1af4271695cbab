package face_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
)

// pruned creates a run, ends it and prunes its log. It returns the events that the event stream at
// `path` had before the log was pruned.
func pruned(h *testServer, path string) (id uuid.UUID, before []sseEvent) {
	h.T.Helper()
	r := play(h)
	before = h.Follow(h.Path(r.ID, path)).All()
	h.pruneLogs()
	return r.ID, before
}

// pruneLogs prunes the logs of all runs that have ended.
func (h *testServer) pruneLogs() {
	h.T.Helper()
	h.Call("PUT", "/retention", `{"logs":"1ms"}`, "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	h.Call("POST", "/agent-executions/prune", `{}`, "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
}

// TestReadersOfAPrunedLogAreResetAtTheStart checks readers of a pruned log that begin at its start
// or at a pruned position: streams, pages, WebSockets and the Go client. They get a reset.
func TestReadersOfAPrunedLogAreResetAtTheStart(t *testing.T) {
	h := open(t)
	id, before := pruned(h, "/stream/consolidated")
	last := before[len(before)-2]
	check := func(how, reason string, first, newest int64) {
		t.Helper()
		if reason != "truncated" || first != last.Seq() || newest != last.Seq() {
			t.Errorf("%s: reset %q, from %d to %d; %d alone is left", how, reason, first, newest, last.Seq())
		}
	}
	for _, path := range []string{
		"/stream", "/stream/consolidated", "/stream?types=agent.completed", "/stream/consolidated?render=html", "/stream?render=html",
		"/stream?after_seq=0", "/stream/consolidated?after_seq=2", "/stream?render=html&after_seq=0",
	} {
		events := h.Follow(h.Path(id, path)).All()
		number := func(name string) int64 { n, _ := events[0].Fields[name].(float64); return int64(n) }
		reason, _ := events[0].Fields["reason"].(string)
		check(path, reason, number("firstAvailable"), number("lastSeq"))
		if len(events) != 3 || events[0].Event != "reset" || events[1].Event != "agent.completed" || events[2].Event != "end" {
			t.Errorf("%s: came\n%s", path, show(events))
		}
	}
	var p struct {
		Items []wsEvent
		Reset *client.Reset
	}
	if h.Call("GET", h.Path(id, "/events"), "").Want(200, &p); p.Reset == nil || len(p.Items) != 1 {
		t.Fatalf("the page is %+v", p)
	}
	check("page", p.Reset.Reason, p.Reset.FirstAvailable, p.Reset.LastSeq)
	for _, ask := range []string{`{"after_seq":0}`, `{"after_seq":3}`, fmt.Sprintf(`{"cursor":%q}`, before[1].ID)} {
		m := h.Socket(id).Load(ask)
		if !m.Data.Stale || m.Data.Reset == nil || len(m.Data.Events) != 1 {
			t.Fatalf("%s: the page is %+v", ask, m.Data)
		}
		check("WebSocket "+ask, m.Data.Reset.Reason, m.Data.Reset.FirstAvailable, m.Data.Reset.LastSeq)
	}
	reset := h.firstReset(id)
	check("Go client", reset.Reason, reset.FirstAvailable, reset.LastSeq)
}

// firstReset returns the first reset that a Go client receives.
func (h *testServer) firstReset(id uuid.UUID) client.Reset {
	h.T.Helper()
	c, err := client.New(client.Options{BaseURL: h.URL, Key: h.ClientKey})
	if err != nil {
		h.T.Fatal(err)
	}
	var names []string
	var reset client.Reset
	for e, err := range c.Follow(h.T.Context(), id, "") {
		if err != nil {
			h.T.Fatal(err)
		}
		names = append(names, string(e.Type))
		if e.Type == client.EventReset {
			err = e.Decode(&reset)
		}
		if err != nil {
			h.T.Fatal(err)
		}
	}
	if got := strings.Join(names, " "); got != "reset agent.completed" {
		h.T.Errorf("the Go client is given %s", got)
	}
	return reset
}

// TestFilteredStreamOfAPrunedLogKeepsItsNumbers checks a filtered stream of a log that was pruned
// except for the last event. Wherever the stream starts, the member prevSeq of that event says that
// all events before it were left out.
func TestFilteredStreamOfAPrunedLogKeepsItsNumbers(t *testing.T) {
	h := open(t)
	for _, path := range []string{"/stream?types=agent.created,agent.completed,entry.appended", "/stream?types=agent.completed", "/stream/consolidated?types=agent.completed,task.completed", "/stream?render=html"} {
		id, before := pruned(h, path)
		positions := []string{"", "&after_seq=0", "&after_seq=2", fmt.Sprintf("&after_seq=%d", before[len(before)-2].Seq()-1)}
		for _, e := range before[:len(before)-2] {
			positions = append(positions, "&after="+e.ID)
		}
		all := h.Follow(h.Path(id, "/stream/consolidated")).All()
		positions = append(positions, "&after="+all[0].ID) // directly before the first remaining event
		for _, from := range positions {
			events := h.Follow(h.Path(id, path+from)).All()
			at := slices.IndexFunc(events, func(e sseEvent) bool { return e.Event == "agent.completed" })
			if at < 0 {
				t.Fatalf("%s%s: came\n%s", path, from, show(events))
			}
			if shown, left := events[at].Filtered(); events[at].Seq() != max(shown, left)+1 || shown != 0 {
				t.Errorf("%s%s: the event is %s", path, from, events[at].Data)
			}
		}
	}
}
