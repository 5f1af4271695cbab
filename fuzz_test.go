package perdure_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/gowebpki/jcs"
	"github.com/perdure/perdure"
)

// FuzzCursor checks that ParseCursor inverts String.
func FuzzCursor(f *testing.F) {
	f.Add(uint64(0), int64(0))
	f.Add(uint64(7), int64(300))
	f.Add(^uint64(0), int64(1)<<62)
	f.Fuzz(func(t *testing.T, epoch uint64, pos int64) {
		in := perdure.Cursor{Epoch: epoch, Pos: pos, Nonce: uint32(epoch >> 7)}
		out, err := perdure.ParseCursor(in.String())
		if pos < 0 || pos > 1<<62 {
			return // no log is that long
		}
		if err != nil || out != in {
			t.Errorf("%v became %v (%v)", in, out, err)
		}
	})
}

// FuzzMatchName compares MatchName with an equivalent regular expression.
func FuzzMatchName(f *testing.F) {
	for _, seed := range [][2]string{
		{"a", "a"},
		{"*", "a"},
		{"**", "a.b.c"},
		{"a.*.c", "a.b.c"},
		{"a.**", "a"},
		{"**.c", "b.c"},
		{"**.*", "a"},
		{"*.**.*", "a.b.c"},
		{"a.**.b.**.c", "a.x.b.b.y.c"},
		{"a", "a.b"},
		{"(", "("},
		{"é.*", "é.ü"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if perdure.CheckPattern(pattern) != nil || perdure.CheckName(name) != nil || !utf8.ValidString(pattern) || !utf8.ValidString(name) {
			return // an invalid pattern or name is never stored
		}
		var segments []string
		for segment := range strings.SplitSeq(pattern, ".") {
			switch segment {
			case "*":
				segment = `[^.]+`
			case "**":
				segment = `[^.]+(\.[^.]+)*`
			default:
				segment = regexp.QuoteMeta(segment)
			}
			segments = append(segments, segment)
		}
		want := regexp.MustCompile(`(?s)^` + strings.Join(segments, `\.`) + `$`).MatchString(name)
		if got := perdure.MatchName(pattern, name); got != want {
			t.Errorf("%q on %q: %v, want %v", pattern, name, got, want)
		}
	})
}

// FuzzDefaultTaskKey checks that an input and its canonical form (RFC 8785) have the same key. An
// input with a number that a float64 does not represent has no key.
func FuzzDefaultTaskKey(f *testing.F) {
	for _, seed := range []string{
		`{"b":1,"a":[1.0,"x"]}`, `{"n":9007199254740993}`, `[1e400]`, `[1E2,-0,0.1,1e-7]`, `"é\u00e9\ud83d\ude00"`, `{"\u20ac":1,"a":{"":null}}`,
		`[123456789012345680000]`, `{"a":1,"a":2}`, ` [ ] `, `[1`, `"\ud800"`, `nul`, `{"a":[true,false,null]}`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		key, err := perdure.DefaultTaskKey(keyExecution, "k", input, "")
		if err != nil {
			if !perdure.IsCode(err, perdure.InvalidArgument) {
				t.Errorf("the error is %v", err)
			}
			return
		}
		for _, number := range numbersIn(input) {
			if !held(number) {
				t.Errorf("%s is not exact, and has a key", number)
			}
		}
		canonical, err := jcs.Transform(input)
		if err != nil {
			t.Fatalf("it has a key and no canonical form: %v", err)
		}
		again, err := jcs.Transform(canonical)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Errorf("%s canonicalises to %s (%v)", canonical, again, err)
		}
		if same, err := perdure.DefaultTaskKey(keyExecution, "k", canonical, ""); err != nil || same != key {
			t.Errorf("%q has the key %s, its canonical form %q %s (%v)", input, key, canonical, same, err)
		}
	})
}

func numbersIn(input []byte) []json.Number {
	var all []json.Number
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return all
		}
		if n, ok := token.(json.Number); ok {
			all = append(all, n)
		}
	}
}

// held reports whether a float64 represents n exactly, if n is an integer. It returns true if n is
// not an integer.
func held(n json.Number) bool {
	f, err := n.Float64()
	if err != nil {
		return false
	}
	exact, _, err := big.ParseFloat(n.String(), 10, 4096, big.ToNearestEven)
	return err == nil && (!exact.IsInt() || exact.Cmp(big.NewFloat(f)) == 0)
}

// FuzzWait decodes a wait and facts (signals, tasks, questions, the time) from bytes. It checks that
// the wait is unchanged after encoding and decoding as JSON, and that it is met exactly if a naive
// evaluation says so. After Mark, the wait is met even without the facts. A wait that some facts meet
// is also met by more facts. Mark does not change its receiver.
func FuzzWait(f *testing.F) {
	f.Add([]byte{0, 1, 2}, uint8(1))
	f.Add([]byte{3, 2, 0, 1}, uint8(7))
	f.Add([]byte{4, 3, 0, 9, 1, 5, 2, 80, 3, 1, 1, 14}, uint8(0x55))
	f.Add([]byte{3, 1, 4, 1, 3, 1, 2, 3}, uint8(0xff))
	f.Fuzz(func(t *testing.T, shape []byte, bits uint8) {
		w, _ := waitOf(shape, 4)
		if err := w.Check(); err != nil {
			t.Fatalf("%+v: %v", w, err)
		}
		raw, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		var back perdure.Wait
		if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(back, w) {
			t.Fatalf("%s is read as %+v (%v)", raw, back, err)
		}
		facts := worldOf(bits)
		marked, met := w.Mark(facts)
		if want := naive(w, facts); met != want {
			t.Errorf("%s is met: %v, want %v", raw, met, want)
		}
		if _, still := marked.Mark(worldOf(0)); met && !still {
			t.Errorf("%s was met and is not any more", raw)
		}
		if _, more := marked.Mark(worldOf(bits | bits<<1)); met && !more {
			t.Errorf("%s is met by some facts and not by more", raw)
		}
		if after, err := json.Marshal(w); err != nil || !bytes.Equal(after, raw) {
			t.Errorf("marking changed %s to %s", raw, after)
		}
	})
}

// waitOf decodes a wait, nested at most depth levels deep, from the bytes in shape. It returns the
// wait and the remaining bytes.
func waitOf(shape []byte, depth int) (perdure.Wait, []byte) {
	next := func() byte {
		if len(shape) == 0 {
			return 0
		}
		b := shape[0]
		shape = shape[1:]
		return b
	}
	kind := next() % 6
	if depth == 0 && kind != 5 {
		kind %= 3
	}
	switch arg := int(next()); kind {
	case 0:
		return perdure.WaitSignal([]string{"a", "b.*", "b.**", "**", "x"}[arg%5]), shape
	case 1:
		return perdure.WaitTaskOn(taskIDs[arg%3], []perdure.TaskCondition{"", perdure.TaskEnded, perdure.TaskSucceeded, perdure.TaskDidFail}[arg/3%4]), shape
	case 5:
		return perdure.WaitQuestion(taskIDs[arg%3]), shape
	case 2:
		return perdure.WaitUntil(epoch.Add(time.Duration(arg%3) * time.Second)), shape
	default:
		waits := make([]perdure.Wait, 1+arg%3)
		for i := range waits {
			waits[i], shape = waitOf(shape, depth-1)
		}
		if kind == 3 {
			return perdure.WaitAny(waits...), shape
		}
		return perdure.WaitAll(waits...), shape
	}
}

// worldOf decodes facts from bits: three signals, three ended tasks, each with a decided question, and
// the time. Setting a further bit only adds facts or advances the time.
func worldOf(bits uint8) world {
	w := world{now: epoch.Add(-time.Second), signals: map[string]bool{}, tasks: map[uuid.UUID]perdure.TaskStatus{}, final: map[uuid.UUID]bool{}}
	for i, name := range names {
		if bits>>i&1 == 1 {
			w.signals[name] = true
		}
	}
	for i, status := range []perdure.TaskStatus{perdure.TaskCompleted, perdure.TaskFailed, perdure.TaskInterrupted} {
		if bits>>(3+i)&1 == 1 {
			w.tasks[taskIDs[i]] = status
			w.final[taskIDs[(i+1)%3]] = true
		}
	}
	w.now = w.now.Add(time.Duration(bits>>6) * time.Second)
	return w
}

func naive(w perdure.Wait, facts world) bool {
	met := 0
	for _, child := range append(w.Any, w.All...) {
		if naive(child, facts) {
			met++
		}
	}
	switch w.Kind() {
	case perdure.WaitKindAny:
		return met > 0
	case perdure.WaitKindAll:
		return met == len(w.All)
	case perdure.WaitKindSignal:
		return facts.SignalPending(w.Signal)
	case perdure.WaitKindTimer:
		return !facts.now.Before(w.Timer.Time)
	case perdure.WaitKindQuestion:
		return facts.final[*w.Question]
	case perdure.WaitKindTask:
		return naiveTask(w, facts)
	default:
		panic("no wait of the kind " + w.Kind().String() + " is drawn")
	}
}

func naiveTask(w perdure.Wait, facts world) bool {
	switch facts.tasks[*w.Task] {
	case "":
		return false
	case perdure.TaskCompleted:
		return w.On != perdure.TaskDidFail
	}
	return w.On != perdure.TaskSucceeded
}
