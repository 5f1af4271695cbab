package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
)

// Growth measures the costs of a large store.
type Growth struct {
	Stores     []string // values as in Config.Stores
	Executions []int    // numbers of ended executions, in ascending order
	Entries    []int    // numbers of entries of one run
	Steps      []int    // numbers of steps of one run, without a checkpoint
	Rounds     int      // repetitions of fast operations
	Folder     string   // folder for the databases; "" is the system's temporary folder
	Memory     bool     // allows a folder on a file system in memory
	// Show prints a run, as perdure show does. If Show is nil, the time of perdure show is not
	// measured.
	Show     func(ctx context.Context, server, token, run string) error
	Progress io.Writer // receives progress messages; may be nil
}

// Run makes all measurements, and prints one table with all stores.
func (g Growth) Run(ctx context.Context, out io.Writer) error {
	if g.Rounds < 1 || slices.Min(append([]int{1}, slices.Concat(g.Executions, g.Entries, g.Steps)...)) < 1 {
		return fmt.Errorf("numbers of executions, entries, steps and rounds are at least 1")
	}
	if g.Progress == nil {
		g.Progress = io.Discard
	}
	return inFolder(g.Folder, func(all *stores) (err error) {
		m, err := machine(all.folder)
		if err != nil {
			return err
		}
		if err := m.durable(g.Memory); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, all.close()) }()
		for _, store := range g.Stores {
			if m.Postgres, err = all.begin(ctx, store, m.Postgres); err != nil {
				return err
			}
		}
		m.print(out)
		fmt.Fprintln(out, "\n| store | in it | what | p50 ms | p99 ms | max ms |\n|---|---|---|---:|---:|---:|")
		for _, store := range g.Stores {
			if err := g.on(ctx, all, store, out); err != nil {
				return err
			}
		}
		return nil
	})
}

// grownStore is a store that is being filled and measured.
type grownStore struct {
	Growth
	*deployment
	name string // name of the store, as in Growth.Stores
	held string // a text that says what the store contains, for the table
	out  io.Writer
	http *http.Client
}

func (g Growth) on(ctx context.Context, all *stores, store string, out io.Writer) (err error) {
	s := &grownStore{Growth: g, name: strings.SplitN(store, ":", 2)[0], out: out}
	if s.deployment, err = setUp(ctx, all, store, deploymentSpec{slots: 64, inProcess: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.connect()
	there := 0
	for _, n := range g.Executions {
		fmt.Fprintf(g.Progress, "%s: %d executions\n", s.name, n)
		s.held = fmt.Sprintf("%d executions", n)
		if err := errors.Join(s.fill(n-there), s.lists()); err != nil {
			return err
		}
		there = max(there, n)
	}
	for _, n := range g.Entries {
		fmt.Fprintf(g.Progress, "%s: a run of %d entries\n", s.name, n)
		s.held = fmt.Sprintf("%d entries", n)
		if err := s.entries(n); err != nil {
			return err
		}
	}
	for _, n := range g.Steps {
		fmt.Fprintf(g.Progress, "%s: a run of %d steps\n", s.name, n)
		s.held = fmt.Sprintf("%d steps of 1 KiB", n)
		if _, err := s.again(grownRunInput{Steps: n, Size: 1 << 10, Wait: fmt.Sprint("steps-", n)}, "resume without a checkpoint"); err != nil {
			return err
		}
	}
	return nil
}

// connect creates a client for single requests.
func (s *grownStore) connect() {
	s.http = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", s.at.Socket)
	}}}
}

// fill adds n ended executions.
func (s *grownStore) fill(n int) error {
	for n > 0 {
		part := min(n, 2000)
		all, err := s.start(s.ctx, part, func(i int) client.StartRequest {
			input, _ := json.Marshal(grownRunInput{Entries: 1, Size: 400, Prompt: body(100)}) // numbers and texts always marshal
			return client.StartRequest{Kind: grownRunKind, Input: input, Metadata: fmt.Appendf(nil, `{"customer":"c%d"}`, i%1000)}
		})
		if err != nil {
			return err
		}
		slices.Reverse(all) // waiting for the last one first needs fewer requests
		if err := s.finished(s.ctx, all); err != nil {
			return err
		}
		n -= part
	}
	return nil
}

// lists measures server starts, and pages of the list of executions.
func (s *grownStore) lists() error {
	if err := s.restarts(); err != nil {
		return err
	}
	for _, one := range [][2]string{
		{"first page", "?limit=50"},
		{"list by status", "?limit=50&status=failed"},
		{"list by metadata", "?limit=50&metadata.customer=c7"},
		{"list by metadata of none", "?limit=50&metadata.customer=nobody"},
		{"list by q of none", "?limit=50&q=nowhere-to-be-found"},
	} {
		if err := s.repeat(one[0], func() error { _, err := s.get(one[1]); return err }); err != nil {
			return err
		}
	}
	return nil
}

// restarts measures the start of the server, several times.
func (s *grownStore) restarts() error {
	var all []time.Duration
	for range min(3, s.Rounds) {
		took, err := s.restart()
		if err != nil {
			return err
		}
		all = append(all, took)
	}
	s.printRow("start of a server", all)
	return nil
}

// restart stops the server and its worker, and starts new ones. It returns the time from the start of
// the new server process until it is ready.
func (s *grownStore) restart() (time.Duration, error) {
	if err := s.server.close(); err != nil {
		return 0, err
	}
	where, err := json.Marshal(serverSpec{Data: s.database.folder, Store: s.database.url})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if s.server, err = spawn(s.ctx, "server", string(where)); err != nil {
		return 0, err
	}
	if err := s.server.ask("where", struct{}{}, &s.at); err != nil {
		return 0, err
	}
	took := time.Since(began)
	s.api, s.worker = client.Socket(s.at.Socket, s.at.Token), s.server
	s.connect()
	return took, s.server.ask("work", workerSpec{Slots: 64}, nil)
}

// repeat measures one operation several times.
func (s *grownStore) repeat(what string, do func() error) error {
	var all []time.Duration
	for range s.Rounds {
		began := time.Now()
		if err := do(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		all = append(all, time.Since(began))
	}
	s.printRow(what, all)
	return nil
}

func (s *grownStore) printRow(what string, all []time.Duration) {
	slices.Sort(all)
	fmt.Fprintf(s.out, "| %s | %s | %s | %s | %s | %s |\n", s.name, s.held, what, ms(quantile(all, 0.5)), ms(quantile(all, 0.99)), ms(quantile(all, 1)))
}

// listPage is a page of any list.
type listPage struct {
	Items      []json.RawMessage `json:"items"`
	NextCursor *string           `json:"nextCursor"`
}

// get requests a page of a list. The parameter `path` is relative to the path of the list of
// executions.
func (s *grownStore) get(path string) (page listPage, err error) {
	req, err := http.NewRequestWithContext(s.ctx, http.MethodGet, "http://localhost/api/orgs/default/agent-executions"+path, http.NoBody)
	if err != nil {
		return page, err
	}
	req.Header.Set("Authorization", "Bearer "+s.at.Token)
	res, err := s.http.Do(req)
	if err != nil {
		return page, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return page, err
	}
	if res.StatusCode != http.StatusOK {
		return page, fmt.Errorf("GET %s is answered %d %s", path, res.StatusCode, raw)
	}
	return page, json.Unmarshal(raw, &page)
}

// entries measures an execution with n entries.
func (s *grownStore) entries(n int) error {
	id, err := s.again(grownRunInput{Entries: n, Size: 200, Wait: fmt.Sprint("entries-", n)}, "resume after a checkpoint")
	if err != nil {
		return err
	}
	cursors, err := s.walk(id)
	if err != nil {
		return err
	}
	for _, at := range []struct {
		what string
		page int
	}{{"page of entries, first", 0}, {"page of entries, middle", len(cursors) / 2}, {"page of entries, last", len(cursors) - 1}} {
		if err := s.repeat(at.what, func() error { _, err := s.get(entriesPath(id, cursors[at.page])); return err }); err != nil {
			return err
		}
	}
	if err := s.repeat("snapshot", func() error { _, err := s.get("/" + id.String() + "/snapshot"); return err }); err != nil {
		return err
	}
	if s.Show == nil {
		return nil
	}
	began := time.Now()
	if err := s.Show(s.ctx, "http://"+s.at.HTTP, s.at.Token, id.String()); err != nil {
		return fmt.Errorf("show: %w", err)
	}
	s.printRow("show", []time.Duration{time.Since(began)})
	return nil
}

func entriesPath(id uuid.UUID, cursor string) string {
	path := "/" + id.String() + "/entries?limit=100"
	if cursor != "" {
		path += "&cursor=" + cursor
	}
	return path
}

// walk reads all pages of an execution's entries, and measures the total time. It returns the cursor
// of each page.
func (s *grownStore) walk(id uuid.UUID) (cursors []string, err error) {
	began := time.Now()
	for cursor := ""; ; {
		cursors = append(cursors, cursor)
		page, err := s.get(entriesPath(id, cursor))
		if err != nil {
			return nil, err
		}
		if page.NextCursor == nil || *page.NextCursor == "" {
			s.printRow("all entries, by pages of 100", []time.Duration{time.Since(began)})
			return cursors, nil
		}
		cursor = *page.NextCursor
	}
}

// again starts a run that waits for a signal, restarts the server with its worker, and sends the
// signal. It measures the time until the new worker, whose caches are empty, has brought the run to
// the place where it waited.
func (s *grownStore) again(in grownRunInput, what string) (uuid.UUID, error) {
	id, err := s.agent(grownRunKind, in)
	if err != nil {
		return id, err
	}
	if err := s.waiting(id); err != nil {
		return id, err
	}
	if _, err := s.restart(); err != nil {
		return id, err
	}
	began := time.Now()
	if _, err := s.api.Signal(s.ctx, id, client.SignalRequest{Name: in.Wait, Value: json.RawMessage("{}")}); err != nil {
		return id, err
	}
	var at time.Time
	if err := s.worker.ask("next", workerArgs{Name: "again " + in.Wait}, &at); err != nil {
		return id, err
	}
	s.printRow(what, []time.Duration{at.Sub(began)})
	if err := s.finished(s.ctx, []followTarget{{Execution: id}}); err != nil {
		return id, err
	}
	all, err := s.samples("messages " + in.Wait)
	if err == nil && in.Entries > 0 {
		s.printRow("first Messages()", all[len(all)-1:])
	}
	return id, err
}
