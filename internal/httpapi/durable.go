package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/durablestream"
	"github.com/perdure/perdure/internal/eventlog"
)

const (
	// durablePath is the prefix of all paths of the Durable Streams protocol. durableExecutions,
	// below it, is the prefix of the logs of executions.
	durablePath       = "/v1/stream/"
	durableExecutions = "executions/"
)

// durableRoutes registers the streams. Their handler dispatches the methods itself.
func (s *server) durableRoutes() {
	s.mux.HandleFunc(durablePath, func(w http.ResponseWriter, r *http.Request) {
		c := callerOf(r.Context())
		if p := strange(c, c.org); p != nil {
			p.write(w)
			return
		}
		if r.Method == http.MethodGet && r.URL.Query().Get("live") != "" {
			leave, p := s.admit(c, transportDurable)
			if p != nil {
				p.write(w)
				return
			}
			defer leave()
		}
		live, over := s.watch.enter(r.Context())
		defer over()
		if err := s.durableStream(live, w, r, c.org); err != nil {
			s.durableProblem(w, r, err)
		}
	})
}

// durableStream answers a request. live is done when the server stops or the key is no longer
// valid. It ends only waiting: a request that does not wait is still answered.
func (s *server) durableStream(live context.Context, w http.ResponseWriter, r *http.Request, org string) error {
	path := strings.TrimPrefix(r.URL.Path, durablePath)
	reading := durablestream.Reading{
		WriteTimeout: s.WriteTimeout,
		Alive: func() error {
			if err := context.Cause(live); errors.Is(err, errKeyOver) {
				return err
			}
			return nil
		},
	}
	if id, ok := strings.CutPrefix(path+"/", durableExecutions); ok {
		return s.durableLog(live, w, r, org, strings.TrimSuffix(id, "/"), reading)
	}
	return s.streams.Handle(live, w, r, org, path, reading)
}

// durableProblem responds with an error, which may set headers of its own.
func (s *server) durableProblem(w http.ResponseWriter, r *http.Request, err error) {
	var (
		p       *problem
		refusal *durablestream.Refusal
	)
	switch {
	case errors.As(err, &refusal):
		p = newProblem(refusal.Code, refusal.Detail)
		p.Status = refusal.Status
		for name, value := range refusal.Header {
			w.Header().Set(name, value)
		}
	case errors.Is(err, errKeyOver):
		p = newProblem(perdure.Unauthenticated, "the key is unknown or revoked; "+howToGiveKey)
	case !errors.As(err, &p):
		p = s.problemOf(r.Context(), err)
	}
	p.write(w)
}

// durableLog serves the log of an execution as a read-only stream.
func (s *server) durableLog(live context.Context, w http.ResponseWriter, r *http.Request, org, name string, c durablestream.Reading) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		p := newProblem(perdure.InvalidArgument, r.Method+" is not possible here: the log of an execution is read-only")
		p.Status = http.StatusMethodNotAllowed
		return p
	}
	id, err := parseID("execution", name)
	if err != nil {
		return err
	}
	if _, err := s.Engine.Read().Lazy().Execution(r.Context(), org, id); err != nil {
		return err
	}
	head, err := s.Engine.Read().LogHead(r.Context(), id)
	if err != nil {
		return err
	}
	return durablestream.Serve(live, w, r, &durableLog{s, id, s.Log.Cursor(head)}, c)
}

// durableLog is the log of an execution as a stream in JSON mode, as it was at the start of the
// request. A position is a position of the log. An offset is that number padded with zeros, so that
// offsets sort as strings.
type durableLog struct {
	*server
	execution uuid.UUID
	head      perdure.Cursor
}

const (
	// durableDigits is the number of digits of an offset.
	durableDigits = 20
	// durablePage is the largest number of records in one response.
	durablePage = 1000
)

func (d *durableLog) ContentType() string { return "application/json" }

// Tag returns a tag for caches. It changes when the store is restored, because the log may then
// have other records at the same positions.
func (d *durableLog) Tag() string { return fmt.Sprintf("%s:%x", d.execution, d.head.Epoch) }

func (d *durableLog) Offset(at int64) string { return fmt.Sprintf("%0*d", durableDigits, at) }

// Parse parses an offset. An offset past the end belongs to records that were lost when the store
// was restored.
func (d *durableLog) Parse(offset string) (int64, error) {
	at, err := strconv.ParseInt(offset, 10, 64)
	switch {
	case err != nil || len(offset) != durableDigits || at < 0:
		return 0, durablestream.BadOffset()
	case at > d.head.Pos:
		return 0, durablestream.Gone("the log does not reach to this offset: it was given before the store was restored")
	}
	return at, nil
}

func (d *durableLog) End(ctx context.Context) (durablestream.Page, error) {
	return d.page(ctx, eventlog.Page{Next: d.head, UpToDate: true})
}

func (d *durableLog) Page(ctx context.Context, at int64) (durablestream.Page, error) {
	from, err := d.cursor(ctx, at)
	if err != nil {
		return durablestream.Page{}, err
	}
	p, err := d.Log.Page(ctx, d.execution, from.String(), durablePage)
	if err != nil {
		return durablestream.Page{}, err
	}
	if p.Reset != nil && at > 0 {
		return durablestream.Page{}, durablestream.Gone("what follows this offset is no longer kept")
	}
	return d.page(ctx, p)
}

// cursor returns the cursor at a position. An offset does not identify the record there.
func (d *durableLog) cursor(ctx context.Context, at int64) (perdure.Cursor, error) {
	if at == d.head.Pos {
		return d.head, nil
	}
	return d.Log.CursorAt(ctx, d.execution, at)
}

// Check implements [durablestream.Source].
func (d *durableLog) Check(ctx context.Context, at int64) (uint64, error) {
	c, err := d.cursor(ctx, at)
	return checkOf(c), err
}

// checkOf returns a number derived from the log's epoch and the record before the cursor. It
// differs in another history of the store.
func checkOf(c perdure.Cursor) uint64 { return max(perdure.EpochOf(c.Epoch, uint64(c.Nonce)), 1) }

func (d *durableLog) page(ctx context.Context, p eventlog.Page) (durablestream.Page, error) {
	out := durablestream.Page{Empty: len(p.Items) == 0, Next: p.Next.Pos, Check: checkOf(p.Next), UpToDate: p.UpToDate}
	var err error
	if out.Content, err = durableArray(p.Items); err == nil {
		out.Mark = markOf(out.Content, out.Check)
	}
	if err == nil && p.UpToDate {
		out.Closed, err = d.Log.AtEnd(ctx, d.execution, eventlog.From{Cursor: p.Next.String()})
	}
	return out, err
}

// markOf returns a hash of a page's content and of its check. The content between two positions can
// change: a superseded block loses its text, and old records are pruned. The check differs if
// another record is before the page's end.
func markOf(content []byte, check uint64) string {
	h := sha256.New()
	h.Write(content)
	h.Write(binary.BigEndian.AppendUint64(nil, check))
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// durableArray encodes records as a JSON array.
func durableArray(items []eventlog.Item) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('[')
	for n, i := range items {
		if n > 0 {
			b.WriteByte(',')
		}
		raw, err := plainJSON(wireEvent(i))
		if err != nil {
			return nil, err
		}
		b.Write(raw)
	}
	b.WriteByte(']')
	return b.Bytes(), nil
}

func (d *durableLog) Await(ctx context.Context, at int64, idle func() error) error {
	from, err := d.cursor(ctx, at)
	if err != nil {
		return err
	}
	for item, err := range d.Log.Tail(ctx, d.execution, eventlog.From{Cursor: from.String()}) {
		if err != nil {
			return err
		}
		if item.Event != "" {
			return nil
		}
		if err := idle(); err != nil {
			return err
		}
	}
	return nil
}
