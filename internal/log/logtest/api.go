package logtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// API is a client that reads the log of one execution from a server.
type API struct {
	// URL returns the current URL of the server, which may change after a restart.
	URL func() string
	// Org and Key are the org and the API key with which the log is read.
	Org, Key  string
	Execution uuid.UUID
	Client    *http.Client
}

// path returns the URL path of a resource below the execution.
func (a API) path(rest string) string {
	return fmt.Sprintf("/api/orgs/%s/agent-executions/%s%s", a.Org, a.Execution, rest)
}

// get sends a GET request; the caller closes the body. A status that is not among `statuses` is an
// error.
func (a API) get(ctx context.Context, path string, header http.Header, statuses ...int) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL()+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+a.Key)
	res, err := a.Client.Do(req)
	if err != nil {
		return nil, err
	}
	for _, status := range statuses {
		if res.StatusCode == status {
			return res, nil
		}
	}
	raw, err := io.ReadAll(res.Body)
	return nil, errors.Join(fmt.Errorf("GET %s: %s: %s", path, res.Status, raw), err, res.Body.Close())
}

// getJSON sends a GET request and decodes the response into v.
func (a API) getJSON(ctx context.Context, path string, v any) (http.Header, error) {
	res, err := a.get(ctx, path, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close() //nolint:errcheck // it was read to its end
	return res.Header, json.NewDecoder(res.Body).Decode(v)
}

// messages yields server-sent events until the stream closes. If the stream breaks off inside an
// event, messages yields an error in place of this event.
func messages(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := bufio.NewReader(r)
		var e Event
		for {
			line, err := lines.ReadString('\n')
			if errors.Is(err, io.EOF) && line == "" && e == (Event{}) {
				return
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("cut off in the middle of an event: %w", err))
				return
			}
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "id":
				e.ID = value
			case "event":
				e.Name = value
			case "data":
				if e.Data != "" {
					e.Data += "\n"
				}
				e.Data += value
			case "":
				if !yield(e, nil) {
					return
				}
				e = Event{}
			default:
				yield(Event{}, faultf("the line %q is none of an event stream", line))
				return
			}
		}
	}
}

// await waits until the log has an event after the cursor. Clients that read the log in pages call
// it when they have reached the end.
func (a API) await(ctx context.Context, cursor string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for e, err := range (stream{API: a, path: "/stream/consolidated"}).Read(ctx, []Event{{ID: cursor}}) {
		if err != nil {
			return err
		}
		if e.Name != "ping" {
			return nil
		}
	}
	return nil
}

// ends reports whether an event with this name is always the last event of a log.
func ends(name string) bool {
	return name == "agent.completed" || name == "agent.failed" || name == "agent.cancelled"
}
