package streams

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// shown is a dispatch that stores streamed blocks in memory, in the order in which they begin.
type shown struct {
	perdure.Dispatch
	mu     sync.Mutex // guards the fields below
	order  []perdure.BlockKey
	blocks map[perdure.BlockKey]*shownBlock
	refuse *perdure.Error
	away   bool
	bad    []string
	// onAppend, if set, is called while a batch of frames is being sent.
	onAppend func()
}

type shownBlock struct {
	perdure.Frame
	text   string
	closed bool
}

func (s *shown) Append(_ context.Context, frames []perdure.Frame) ([]perdure.FrameReply, error) {
	if s.onAppend != nil {
		s.onAppend()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, perdure.Errorf(perdure.Unavailable, "planned")
	}
	replies := make([]perdure.FrameReply, len(frames))
	for i, f := range frames {
		if s.refuse != nil {
			replies[i].Err = s.refuse
			continue
		}
		if !utf8.ValidString(f.Text) || len(f.Text) > maxFrame {
			s.bad = append(s.bad, fmt.Sprintf("%q", f.Text[:min(20, len(f.Text))]))
		}
		key := perdure.BlockKey{Block: f.Block, TaskID: f.Lease.TaskID}
		b := s.blocks[key]
		if b == nil {
			b = &shownBlock{Frame: f}
			s.blocks[key] = b
			s.order = append(s.order, key)
		}
		if known := int64(len(b.text)) - f.Offset; known >= 0 && known <= int64(len(f.Text)) && !b.closed {
			b.text += f.Text[known:]
		}
		b.closed = b.closed || f.Close
		if f.Close {
			b.Reason = f.Reason
		}
		replies[i].Held = int64(len(b.text))
	}
	return replies, nil
}

// close closes the blocks whose stored lengths equal those in the list `ends`, as a commit does.
func (s *shown) close(ends []perdure.BlockEnd) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range ends {
		b := s.blocks[perdure.BlockKey{Block: end.Key.Block, TaskID: end.Key.TaskID}]
		b.closed = b.closed || int64(len(b.text)) == end.Length
	}
}

// list returns type, stream and content of each stored block, in the order in which the blocks
// began.
func (s *shown) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, key := range s.order {
		b := s.blocks[key]
		what := b.text
		if b.Fields != nil {
			what = string(b.Fields)
		}
		all = append(all, fmt.Sprintf("%s%s:%s", b.Type, b.Stream, what))
	}
	return all
}

// newShown returns a new Stream, and the dispatch that stores its output.
func newShown(t *testing.T, ctx context.Context) (*shown, *Stream) {
	t.Helper()
	s := &shown{blocks: map[perdure.BlockKey]*shownBlock{}}
	all := New(s, slog.New(slog.DiscardHandler), 25*time.Millisecond, isUnavailable)
	ctx2, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan struct{})
	go func() { defer close(over); all.Run(ctx2) }()
	t.Cleanup(func() { stop(); <-over })
	return s, all.Open(ctx, &perdure.TaskLease{ExecutionID: uuid.New(), TaskID: uuid.New(), Attempt: 1}, nil, func(error) {})
}

func isUnavailable(err error) bool { return perdure.IsCode(err, perdure.Unavailable) }

func flush(t *testing.T, st *Stream) []perdure.BlockEnd {
	t.Helper()
	ends, err := st.Flush(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ends
}

func (s *shown) want(t *testing.T, want ...string) {
	t.Helper()
	if got := s.list(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("shown:\n%q\nwant\n%q", got, want)
	}
	if len(s.bad) > 0 {
		t.Errorf("pieces that no server takes: %s", s.bad)
	}
}

func TestBlocksComeInOrder(t *testing.T) {
	s, st := newShown(t, t.Context())
	st.Thinking("hm")
	st.Text("a")
	st.Text("b")
	st.ToolArguments("c1", "{")
	st.ToolArguments("c1", "}")
	st.ToolArguments("c2", "{}")
	st.Data(map[string]int{"n": 1})
	st.Text("c")
	st.Break()
	st.Text("d")
	st.SetPlace(perdure.Place{TurnID: "t2"})
	st.Text("e")
	st.Error("oops", "bad")
	st.Text("")
	ends := flush(t, st)
	s.want(t, "thinking:hm", "token:ab", "data:{}", "data:{}", `data:{"data":{"n":1}}`, "token:c", "token:d", "token:e", `error:{"code":"bad","message":"oops"}`)
	if len(ends) != 7 {
		t.Errorf("%d blocks have ended, want 7", len(ends))
	}
	if again := flush(t, st); len(again) != 0 {
		t.Errorf("the ends %v are told twice", again)
	}
	st.Text("after")
	flush(t, st)
	if got := s.list(); got[len(got)-1] != "token:after" {
		t.Errorf("after a flush: %q", got)
	}
}

func TestCharactersAreNeverSplit(t *testing.T) {
	s, st := newShown(t, t.Context())
	text := "aé€😀z"
	for i := range len(text) {
		st.Terminal("stdout", []byte(text[i:i+1]))
		// The bytes of a character come in reverse order, so they are invalid.
		st.Terminal("stderr", []byte(text[len(text)-1-i:len(text)-i]))
	}
	flush(t, st)
	if got := s.list(); len(got) != 2 || got[0] != "terminalstdout:"+text {
		t.Errorf("shown: %q", got)
	}
	if len(s.bad) > 0 {
		t.Errorf("pieces that no server takes: %s", s.bad)
	}
	// A long text is split only between characters.
	long := strings.Repeat("€", maxFrame)
	st.Text("x" + long)
	flush(t, st)
	if got := s.list(); got[2] != "token:x"+long || len(s.bad) > 0 {
		t.Errorf("%d bytes came whole, %q is bad", len(got[2]), s.bad)
	}
}

// TestInvalidBytesAreReplaced checks that each byte that is not UTF-8 is streamed as U+FFFD.
func TestInvalidBytesAreReplaced(t *testing.T) {
	for in, want := range map[string]string{
		"a\xffb": "terminalstdout:a\uFFFDb", "end\xe2\x82": "terminalstdout:end\uFFFD\uFFFD", "\xe2": "terminalstdout:\uFFFD", "\x80": "terminalstdout:\uFFFD",
	} {
		s, st := newShown(t, t.Context())
		st.Terminal("stdout", []byte(in))
		flush(t, st)
		s.want(t, want)
	}
	s, st := newShown(t, t.Context())
	st.Text("a\xffb")
	flush(t, st)
	s.want(t, "token:a\uFFFDb")
}

// TestTerminalIsTruncated checks that stdout and stderr of an attempt together are stored up to
// TerminalLimit. Both end with complete characters, and one block is marked as truncated.
func TestTerminalIsTruncated(t *testing.T) {
	s, st := newShown(t, t.Context())
	st.Terminal("stderr", []byte("warning"))
	line := []byte(strings.Repeat("€", 1000))
	for range 500 {
		st.Terminal("stdout", line)
	}
	st.Terminal("stderr", []byte("more"))
	s.close(flush(t, st))
	s.mu.Lock()
	defer s.mu.Unlock()
	total, truncated := 0, 0
	for _, b := range s.blocks {
		total += len(b.text)
		if !utf8.ValidString(b.text) || !b.closed {
			t.Errorf("the %s block is valid: %v, closed: %v", b.Stream, utf8.ValidString(b.text), b.closed)
		}
		if b.Reason == perdure.BlockTruncated {
			truncated++
		}
	}
	if total > perdure.TerminalLimit || total < perdure.TerminalLimit-3 || truncated != 1 {
		t.Errorf("%d bytes are kept, %d marks", total, truncated)
	}
}

// TestTerminalIsMarkedHoweverItIsCut checks that exactly one block is marked as truncated if output
// exceeds the limit. That holds for every way to split the output into calls and between stdout and
// stderr. If the output reaches exactly the limit, no block is marked.
func TestTerminalIsMarkedHoweverItIsCut(t *testing.T) {
	const limit = perdure.TerminalLimit
	x := func(n int) []byte { return []byte(strings.Repeat("x", n)) }
	for name, c := range map[string]struct {
		show  func(st *Stream)
		kept  int
		marks int
	}{
		"in one piece":              {func(st *Stream) { st.Terminal("stdout", x(2*limit)) }, limit, 1},
		"a piece ends at the limit": {func(st *Stream) { st.Terminal("stdout", x(limit)); st.Terminal("stdout", x(1)) }, limit, 1},
		"much comes after it": {func(st *Stream) {
			st.Terminal("stdout", x(limit))
			st.Terminal("stdout", x(9))
			st.Terminal("stderr", x(9))
		}, limit, 1},
		"the other stream comes after": {func(st *Stream) { st.Terminal("stdout", x(limit)); st.Terminal("stderr", x(1)) }, limit, 1},
		"both come to it": {func(st *Stream) {
			st.Terminal("stderr", x(limit/2))
			st.Terminal("stdout", x(limit/2))
			st.Terminal("stderr", x(1))
		}, limit, 1},
		"exactly the limit":             {func(st *Stream) { st.Terminal("stdout", x(limit)) }, limit, 0},
		"half a character at the limit": {func(st *Stream) { st.Terminal("stdout", append(x(limit), 0xe2, 0x82)) }, limit, 1},
		"the other one's half":          {func(st *Stream) { st.Terminal("stdout", x(limit)); st.Terminal("stderr", []byte{0xe2}) }, limit, 1},
		"half a character before it":    {func(st *Stream) { st.Terminal("stdout", append(x(limit-3), 0xe2)) }, limit, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, st := newShown(t, t.Context())
			c.show(st)
			s.close(flush(t, st))
			s.mu.Lock()
			defer s.mu.Unlock()
			kept, marks := 0, 0
			for _, b := range s.blocks {
				kept += len(b.text)
				if b.Reason == perdure.BlockTruncated {
					marks++
				}
				if !b.closed || !utf8.ValidString(b.text) {
					t.Errorf("the %s block is closed: %v", b.Stream, b.closed)
				}
			}
			if kept != c.kept || marks != c.marks {
				t.Errorf("%d bytes are kept, %d marks; want %d and %d", kept, marks, c.kept, c.marks)
			}
		})
	}
}

// TestFlushOfASourceThatGoesOn checks that Flush returns even if an event is added to the Stream
// each time output is sent.
func TestFlushOfASourceThatGoesOn(t *testing.T) {
	s, st := newShown(t, t.Context())
	var over atomic.Bool
	s.onAppend = func() {
		if !over.Load() {
			st.Data("more")
		}
	}
	st.Data("first")
	flush(t, st)
	over.Store(true)
	if len(s.list()) == 0 {
		t.Error("the flush came back before anything was sent")
	}
}

func TestRefusedSourceTakesNothingMore(t *testing.T) {
	s, st := newShown(t, t.Context())
	s.refuse = perdure.Errorf(perdure.LeaseLost, "planned")
	lost := make(chan error, 1)
	st.lost = func(err error) { lost <- err }
	st.Text("a")
	if err := <-lost; !perdure.IsCode(err, perdure.LeaseLost) {
		t.Errorf("lost with %v", err)
	}
	if _, err := st.Flush(t.Context()); !perdure.IsCode(err, perdure.LeaseLost) {
		t.Errorf("the flush gave %v", err)
	}
	st.Text("b")
	s.want(t)
}

// TestSourceThatIsFarAhead checks a Stream that has more than maxAhead unsent bytes while the
// server is unavailable. A call of Text waits until the context ends, and then drops the text.
func TestSourceThatIsFarAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, st := newShown(t, ctx)
		s.mu.Lock()
		s.away = true
		s.mu.Unlock()
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range 20 {
				st.Text(strings.Repeat("x", maxAhead/4))
			}
		}()
		synctest.Wait()
		select {
		case <-over:
			t.Fatal("it did not wait")
		default:
		}
		held := func() int {
			st.owner.mu.Lock()
			defer st.owner.mu.Unlock()
			return st.ahead()
		}
		if n := held(); n <= maxAhead {
			t.Errorf("it waits at %d bytes", n)
		}
		cancel()
		<-over
		if n := held(); n > 2*maxAhead {
			t.Errorf("%d bytes are held for a server that is away", n)
		}
	})
}

// TestTextThatGoesOnIsGathered checks that the text of ten Streams, each with 50 chunks per second,
// is sent in about 40 requests per second instead of 500. The first chunk and the end of a block,
// and events, are sent at once.
func TestTextThatGoesOnIsGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var at []time.Duration
		s := &shown{blocks: map[perdure.BlockKey]*shownBlock{}, onAppend: func() { at = append(at, time.Since(began)) }}
		all := New(s, slog.New(slog.DiscardHandler), 25*time.Millisecond, isUnavailable)
		ctx, stop := context.WithCancel(t.Context())
		go all.Run(ctx)
		defer stop()
		sources := make([]*Stream, 10)
		for i := range sources {
			sources[i] = all.Open(ctx, &perdure.TaskLease{ExecutionID: uuid.New(), TaskID: uuid.New(), Attempt: 1}, nil, func(error) {})
			sources[i].Text("first")
			synctest.Wait()
		}
		if len(at) != 10 || at[9] != 0 {
			t.Fatalf("the first pieces were sent at %v", at)
		}
		for range 50 {
			time.Sleep(20 * time.Millisecond)
			for _, st := range sources {
				st.Text("x")
			}
		}
		synctest.Wait()
		if got := len(at) - 10; got < 36 || got > 41 {
			t.Errorf("%d batches were sent in a second", got)
		}
		time.Sleep(time.Millisecond)
		sources[0].Text("y")
		sources[1].Break()
		synctest.Wait()
		if last := at[len(at)-1]; last != time.Since(began) {
			t.Errorf("the end of a part was sent at %v, %v ago", last, time.Since(began)-last)
		}
		time.Sleep(time.Millisecond)
		sources[2].Data(1)
		synctest.Wait()
		if last := at[len(at)-1]; last != time.Since(began) {
			t.Errorf("an event was sent at %v, %v ago", last, time.Since(began)-last)
		}
		before := len(at)
		time.Sleep(time.Hour)
		if len(at) > before+1 {
			t.Errorf("%d batches were sent while nothing was shown", len(at)-before)
		}
		for i, text := range s.list()[:10] {
			if want := "token:first" + strings.Repeat("x", 50); i > 0 && text != want {
				t.Errorf("source %d showed %q", i, text)
			}
		}
		stop()
		synctest.Wait()
	})
}

// TestWhatASourceCommitsNextClosesItsBlocks checks that Flush sends no frame that closes the last
// block of a source, because the next commit closes it. There are two exceptions, in which the frame
// is sent: the source ended the block itself (Break), or the block is truncated.
func TestWhatASourceCommitsNextClosesItsBlocks(t *testing.T) {
	for name, c := range map[string]struct {
		show   func(st *Stream)
		frames int // number of frames that close a block
	}{
		"held whole":    {func(st *Stream) { st.Text("abc") }, 0},
		"ended before":  {func(st *Stream) { st.Text("abc"); st.Break() }, 1},
		"to be said":    {func(st *Stream) { st.Terminal("stdout", make([]byte, 2*perdure.TerminalLimit)) }, 1},
		"both together": {func(st *Stream) { st.Text("a"); st.Break(); st.Text("b") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, st := newShown(t, t.Context())
				c.show(st)
				time.Sleep(time.Second) // virtual time, in which output that does not wait for Flush is sent
				ends := flush(t, st)
				closed := 0
				for _, b := range s.blocks {
					if b.closed {
						closed++
					}
				}
				if closed != c.frames || len(ends) != len(s.blocks) {
					t.Errorf("%d of %d blocks were closed by frames, want %d; %d ends", closed, len(s.blocks), c.frames, len(ends))
				}
			})
		})
	}
}

// TestACloseThatFailsIsLeftToTheNextCommit checks that Flush waits while a request that closes a
// block is being sent. If that request fails, Flush returns the block's length, so that the next
// commit closes the block.
func TestACloseThatFailsIsLeftToTheNextCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, st := newShown(t, t.Context())
		under, failing := make(chan struct{}), make(chan struct{})
		var ends atomic.Bool
		once := sync.OnceFunc(func() { close(under); <-failing })
		s.onAppend = func() {
			if ends.Load() {
				once()
			}
		}
		st.Text("abc")
		time.Sleep(time.Second) // virtual time
		ends.Store(true)
		s.mu.Lock()
		s.refuse = perdure.Errorf(perdure.Unavailable, "planned")
		s.mu.Unlock()
		st.Break()
		<-under
		ended := make(chan []perdure.BlockEnd)
		go func() { ended <- flush(t, st) }()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the source ended while the close was under way")
		default:
		}
		close(failing)
		if ends := <-ended; len(ends) != 1 || ends[0].Length != 3 {
			t.Errorf("the ends are %v", ends)
		}
	})
}
