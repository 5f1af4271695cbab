package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm"
)

// providerName is the name of the provider in the models of the agents.
const providerName = "pace"

// chunkSize is the size of a chunk in bytes. A chunk contains 19 digits of the time at which it
// left the provider, in nanoseconds, and 10 digits of the chunk's number. The chunk contains no
// newline.
const chunkSize = 32

func appendChunk(b []byte, at time.Time, number int) []byte {
	return fmt.Appendf(b, "%019d %010d .", at.UnixNano(), number)
}

// readChunk parses the output of appendChunk.
func readChunk(b []byte) (at time.Time, number int, err error) {
	nanos, err1 := strconv.ParseInt(string(b[:19]), 10, 64)
	number, err2 := strconv.Atoi(string(b[20:30]))
	if err1 != nil || err2 != nil {
		return at, 0, fmt.Errorf("%q is no chunk", b)
	}
	return time.Unix(0, nanos), number, nil
}

// pace defines the chunks of a model and their times. A pace is encoded in the model's id.
type pace struct {
	ID     int           // number of the stream
	Start  time.Time     // time of the first chunk
	Chunks int           // number of chunks
	Every  time.Duration // interval between chunks
}

func (p pace) model() string {
	return fmt.Sprintf("%d:%d:%d:%d", p.ID, p.Start.UnixNano(), p.Chunks, p.Every)
}

func parsePace(model string) (p pace, err error) {
	var start int64
	_, err = fmt.Sscanf(strings.ReplaceAll(model, ":", " "), "%d %d %d %d", &p.ID, &start, &p.Chunks, &p.Every)
	p.Start = time.Unix(0, start)
	return p, err
}

// provider streams chunks at a pace, and records the text that it has streamed.
type provider struct {
	mu   sync.Mutex
	sums map[int]string // SHA-256 of the whole text by stream
	late time.Duration  // maximum delay of a chunk
	turns
}

func newProvider() *provider {
	p := &provider{sums: map[int]string{}}
	p.changed = sync.NewCond(&p.mu)
	return p
}

func (p *provider) Name() string { return providerName }

// Stream implements llm.Provider.
func (p *provider) Stream(ctx context.Context, r llm.Request, emit func(llm.Delta) error) (*llm.Response, error) {
	if r.Model == turnsModel {
		return p.turn(r, emit)
	}
	at, err := parsePace(r.Model)
	if err != nil {
		return nil, err
	}
	said := make([]byte, 0, at.Chunks*chunkSize)
	timer := time.NewTimer(time.Until(at.Start))
	defer timer.Stop()
	var late time.Duration
	b := llm.NewBuilder(emit)
	for i := range at.Chunks {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
		}
		now := time.Now()
		late = max(late, now.Sub(at.Start.Add(time.Duration(i)*at.Every)))
		said = appendChunk(said, now, i)
		if err := b.Text(string(said[i*chunkSize:])); err != nil {
			return nil, err
		}
		timer.Reset(time.Until(at.Start.Add(time.Duration(i+1) * at.Every)))
	}
	sum := sha256.Sum256(said)
	p.mu.Lock()
	p.sums[at.ID], p.late = hex.EncodeToString(sum[:]), max(p.late, late)
	p.mu.Unlock()
	return b.Finish(llm.Model{Provider: providerName, ID: r.Model}, perdure.StopEndTurn, perdure.Usage{Output: int64(at.Chunks)}, nil)
}
