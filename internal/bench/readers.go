package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/client"
)

// followTarget is a stream that a reader follows.
type followTarget struct {
	ID        int // number of the stream at the provider
	Execution uuid.UUID
}

// readerResults is the result of the readers of an experiment.
type readerResults struct {
	Sums    map[int]string  // SHA-256 of the text of each stream that has ended
	Delays  []time.Duration // delay of every chunk, in ascending order
	Broken  []string        // readers that were disconnected or received wrong data
	Idle    int             // number of readers that ended after the first event only
	Chunks  int
	Records int // number of records that the chunks arrived in
}

// readers is the state of the child process that reads streams.
type readers struct {
	addr, token string
	org         string // "" means the default org
	ctx         context.Context
	cancel      context.CancelFunc
	mu          sync.Mutex    // guards got
	ended       chan struct{} // one value per reader that has ended
	got         readerResults
	reading     sync.WaitGroup
}

func readersRole(ctx context.Context, args []string) error {
	if err := moreFiles(); err != nil {
		return err
	}
	r := &readers{addr: args[0], token: args[1]}
	r.begin(ctx)
	return serveRequests(ctx, map[string]handler{
		// The request "follow" is answered when each reader has received its first event.
		"follow": on(func(all []followTarget) (any, error) { return nil, r.follow(all) }),
		// The request "heard" is answered when all streams have ended.
		"heard": on(func(struct{}) (any, error) {
			r.reading.Wait()
			slices.Sort(r.got.Delays)
			got := r.got
			r.begin(ctx)
			return got, nil
		}),
		// The request "leave" waits until the given number of readers has ended, and then stops the
		// other readers.
		"leave": on(func(ends int) (any, error) {
			r.wait(ends)
			r.cancel()
			r.reading.Wait()
			slices.Sort(r.got.Delays)
			got := r.got
			r.begin(ctx)
			return got, nil
		}),
		"used": on(func(collect bool) (any, error) { return readUsage(collect), nil }),
	})
}

func (r *readers) begin(ctx context.Context) {
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.got, r.ended = readerResults{Sums: map[int]string{}}, make(chan struct{}, 1<<16)
}

// wait returns when n readers have ended.
func (r *readers) wait(n int) {
	for range n {
		<-r.ended
	}
}

func (r *readers) follow(all []followTarget) error {
	const atOnce = 64
	free := make(chan struct{}, atOnce)
	var opened sync.WaitGroup
	for _, to := range all {
		free <- struct{}{}
		opened.Add(1)
		r.reading.Go(func() {
			first := sync.OnceFunc(func() { <-free; opened.Done() })
			one := &streamReader{followTarget: to, hash: sha256.New(), first: first}
			err := one.follow(r)
			first()
			r.add(one, err)
		})
	}
	opened.Wait()
	return nil
}

func (r *readers) add(one *streamReader, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.ctx.Err() == nil {
		r.got.Broken = append(r.got.Broken, fmt.Sprintf("stream %d, after %d chunks: %v", one.ID, one.chunks, err))
	}
	if one.chunks > 0 {
		r.got.Sums[one.ID] = hex.EncodeToString(one.hash.Sum(nil))
	}
	r.got.Delays = append(r.got.Delays, one.delays...)
	if one.chunks == 0 && one.events == 1 {
		r.got.Idle++
	}
	r.ended <- struct{}{}
	r.got.Chunks += one.chunks
	r.got.Records += one.records
}

// streamReader is one reader.
type streamReader struct {
	followTarget
	hash    hash.Hash
	delays  []time.Duration
	rest    []byte // bytes of an incomplete chunk
	chunks  int
	records int
	events  int
	first   func()
}

// follow reads the stream to its end. It implements HTTP/1.1 itself, on its own connection, to use
// less memory than a client library.
func (one *streamReader) follow(r *readers) error {
	var d net.Dialer
	conn, err := d.DialContext(r.ctx, "tcp", r.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(r.ctx, func() { _ = conn.Close() })()
	req := fmt.Sprintf("GET /api/orgs/%s/agent-executions/%s/stream/consolidated HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n\r\n", cmp.Or(r.org, client.DefaultOrg), one.Execution, r.addr, r.token)
	if _, err := conn.Write([]byte(req)); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 2048), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return one.read(bufio.NewReaderSize(resp.Body, 1024))
}

func (one *streamReader) read(in *bufio.Reader) error {
	var event, data []byte
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		switch {
		case bytes.HasPrefix(line, []byte("event: ")):
			event = line[len("event: "):]
		case bytes.HasPrefix(line, []byte("data: ")):
			data = line[len("data: "):]
		case len(line) == 0:
			over, err := one.event(string(event), data)
			if over || err != nil {
				return err
			}
		}
	}
}

// event processes one event of the stream, and reports whether that event is the last one of the
// stream.
func (one *streamReader) event(name string, data []byte) (over bool, err error) {
	one.first()
	switch name {
	case "ping":
		return false, nil
	case "end":
		if len(one.rest) > 0 {
			return true, fmt.Errorf("the text ends in the middle of a chunk: %q", one.rest)
		}
		return true, nil
	case "token":
		one.records++
		return false, one.text(data)
	}
	one.events++
	return false, nil
}

func (one *streamReader) text(data []byte) error {
	now := time.Now()
	var piece struct{ Data string }
	if err := json.Unmarshal(data, &piece); err != nil {
		return err
	}
	_, _ = io.WriteString(one.hash, piece.Data) // never fails
	one.rest = append(one.rest, piece.Data...)
	for ; len(one.rest) >= chunkSize; one.rest = one.rest[chunkSize:] {
		at, number, err := readChunk(one.rest[:chunkSize])
		if err != nil {
			return err
		}
		if number != one.chunks {
			return fmt.Errorf("chunk %d came in the place of %d", number, one.chunks)
		}
		one.chunks++
		one.delays = append(one.delays, now.Sub(at))
	}
	return nil
}
