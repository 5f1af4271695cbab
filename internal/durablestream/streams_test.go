package durablestream

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// TestStreamIsReadFromEveryOffset checks that appended content can be read from every offset that
// the server issued, with the bytes unchanged. All offsets have the same length, and sort by
// position.
func TestStreamIsReadFromEveryOffset(t *testing.T) {
	r := open(t)
	parts := []string{"1", `"` + filled(100_000) + `"`, `"ü\u0000"`, "[2]", `"` + filled(2<<20) + `"`, "3"}
	for _, contentType := range []string{asText, asBytes, asJSON} {
		offsets := []string{r.make(contentType, contentType, "").next()}
		for _, part := range parts {
			offsets = append(offsets, r.add(contentType, contentType, part).want(204).next())
		}
		for i, offset := range offsets {
			if i > 0 && offset <= offsets[i-1] || len(offset) != len(offsets[0]) {
				t.Errorf("%s does not follow %s", offset, offsets[i-1])
			}
			want := strings.Join(parts[i:], "")
			if contentType == asJSON {
				want = strings.Replace(strings.Join(parts[i:], ","), "[2]", "2", 1)
			}
			if got := r.rest(contentType, offset); got != want {
				t.Errorf("%s after %d parts: %d bytes, want %d", contentType, i, len(got), len(want))
			}
		}
	}
}

// TestClosedStream checks that a closed stream accepts no more content, and that a reader at the
// end of the stream is told that the stream is closed.
func TestClosedStream(t *testing.T) {
	r := open(t)
	r.call("PUT", "made", "all", typeName, asText, headerClosed, "TRUE").want(201).says(headerClosed, "true")
	r.call("PUT", "made", "all", typeName, asText, headerClosed, "true").want(200)
	r.call("PUT", "made", "", typeName, asText).want(409).says(headerClosed, "true")
	r.make("s", asText, "one")
	r.call("PUT", "s", "", typeName, asText, headerClosed, "true").want(409)
	r.add("s", asText, "two", headerClosed, "yes").want(204).says(headerClosed, "")
	last := r.add("s", asText, "three", headerClosed, "true").want(204).says(headerClosed, "true").next()
	r.add("s", asText, "four").want(409).says(headerClosed, "true", headerNext, last)
	r.add("s", asJSON, "4").want(409).says(headerClosed, "true")
	r.add("s", asText, "four", headerClosed, "true").want(409)
	r.call("POST", "s", "", headerClosed, "true").want(204).says(headerClosed, "true", headerNext, last)
	r.call("POST", "s", "", typeName, asJSON, headerClosed, "true").want(204)
	if got := r.call("GET", "s", "").want(200).says(headerClosed, "true"); got.body != "onetwothree" {
		t.Errorf("the stream holds %q", got.body)
	}
	r.call("GET", "s?live=long-poll&offset="+last, "").want(204).says(headerClosed, "true", headerUpToDate, "true")
	r.call("GET", "s?live=long-poll&offset=now", "").want(204).says(headerClosed, "true", headerNext, last)
	if c := r.follow("s", "now").until(""); !c.Closed || c.Next != last {
		t.Errorf("the event stream ends with %+v", c)
	}
	r.call("HEAD", "s", "").want(200).says(headerClosed, "true", headerNext, last, "Cache-Control", "no-store")
}

// TestProducersHeaders checks the responses to appends that have the headers of a producer. The
// append that closed a stream may be repeated; every other append to a closed stream is refused.
func TestProducersHeaders(t *testing.T) {
	r := open(t)
	r.make("s", asText, "")
	send := func(body, epoch, seq string, more ...string) reply {
		t.Helper()
		return r.add("s", asText, body, append([]string{headerProducer, "p", headerEpoch, epoch, headerSeq, seq}, more...)...)
	}
	send("a", "0", "0").want(200).says(headerEpoch, "0", headerSeq, "0")
	send("b", "0", "1").want(200)
	send("a", "0", "0").want(204).says(headerSeq, "1")
	send("x", "0", "3").want(409).says(headerExpected, "2", headerReceived, "3")
	send("c", "2", "0").want(200).says(headerEpoch, "2")
	send("x", "1", "0").want(403).says(headerEpoch, "2")
	send("x", "3", "1").want(400)
	r.add("s", asJSON, "1", headerProducer, "p", headerEpoch, "2", headerSeq, "1").want(409).says(headerExpected, "")
	send("d", "2", "1", headerWriter, "w2").want(200)
	send("d", "2", "1", headerWriter, "w2").want(204)
	send("x", "2", "2", headerWriter, "w10").want(409)
	send("e", "2", "2", headerClosed, "true").want(200).says(headerClosed, "true")
	send("e", "2", "2", headerClosed, "true").want(204).says(headerClosed, "true")
	send("x", "2", "3").want(409).says(headerClosed, "true")
	for _, bad := range [][]string{{"-1", "0"}, {"0", "1.0"}, {"", "0"}, {"0", "+1"}, {"9007199254740992", "0"}} {
		send("x", bad[0], bad[1]).want(400)
	}
	r.add("s", asText, "x", headerProducer, "p", headerSeq, "0").want(400)
	r.add("s", asText, "x", headerEpoch, "0", headerSeq, "0").want(400)
	r.add("s", asText, "x", headerProducer, "", headerEpoch, "0", headerSeq, "0").want(400)
	r.add("s", asText, "x", headerProducer, strings.Repeat("p", nameLimit+1), headerEpoch, "0", headerSeq, "0").want(400)
	if got := r.whole("s"); got != "abcde" {
		t.Errorf("the stream holds %q", got)
	}
}

// TestStreamRequestsThatAreRefused checks that invalid requests are refused with the reason, and
// change nothing.
func TestStreamRequestsThatAreRefused(t *testing.T) {
	r := open(t)
	offset := r.make("s", asJSON, `[{"a":1},{"a":2}]`).next()
	inside := offset[:len(offset)-1] + "3"
	for _, c := range []struct {
		status             int
		method, path, body string
		headers            []string
	}{
		{400, "GET", "s?offset=", "", nil},
		{400, "GET", "s?offset=x", "", nil},
		{400, "GET", "s?offset=-2", "", nil},
		{400, "GET", "s?offset=-1&offset=-1", "", nil},
		{400, "GET", "s?offset=" + offset[:len(offset)-2] + "99", "", nil},
		{400, "GET", "s?offset=" + inside, "", nil},
		{400, "GET", "s?offset=" + offset + "0", "", nil},
		{400, "GET", "s?offset=" + strings.ToUpper(offset) + "%00", "", nil},
		{400, "GET", "s?live=sse", "", nil},
		{400, "GET", "s?live=forever&offset=-1", "", nil},
		{400, "GET", "s?live=sse&offset=" + inside, "", nil},
		{404, "GET", "none", "", nil},
		{404, "HEAD", "none", "", nil},
		{404, "POST", "none", "1", []string{typeName, asJSON}},
		{404, "DELETE", "none", "", nil},
		{404, "PUT", "/acme/", "", nil},
		{404, "GET", "/other/s", "", nil},
		{405, "PATCH", "s", "", nil},
		{409, "PUT", "s", "", []string{typeName, asText}},
		{409, "PUT", "s", "", nil},
		{409, "POST", "s", "x", []string{typeName, asText}},
		{400, "POST", "s", "x", nil},
		{400, "POST", "s", "", []string{typeName, asJSON}},
		{400, "POST", "s", "[]", []string{typeName, asJSON}},
		{400, "POST", "s", "[1", []string{typeName, asJSON}},
		{400, "POST", "s", "1", []string{typeName, "application/json/x"}},
		{413, "POST", "s", strings.Repeat(" ", BodyLimit) + "1", []string{typeName, asJSON}},
		{400, "PUT", "new", "[1", []string{typeName, asJSON}},
		{400, "PUT", "new", "", []string{typeName, "none"}},
		{400, "PUT", "new%0a", "", nil},
		{400, "PUT", strings.Repeat("n", nameLimit+1), "", nil},
		{400, "PUT", "new", "", []string{"Stream-TTL", "x"}},
		{400, "PUT", "new", "", []string{"Stream-TTL", "010"}},
		{400, "PUT", "new", "", []string{"Stream-TTL", "1", "Stream-Expires-At", "2030-01-01T00:00:00Z"}},
		{400, "PUT", "new", "", []string{"Stream-Expires-At", "tomorrow"}},
		{501, "PUT", "new", "", []string{"Stream-TTL", "10"}},
		{501, "PUT", "new", "", []string{"Stream-Expires-At", "2030-01-01T00:00:00Z"}},
		{501, "PUT", "new", "", []string{"Stream-Forked-From", "/acme/s"}},
		{501, "PUT", "new", "", []string{"Stream-Fork-Offset", "-1"}},
		{501, "PUT", "__ds/subscriptions/x", "{}", []string{typeName, asJSON}},
		{501, "GET", "__ds/jwks.json", "", nil},
	} {
		if got := r.call(c.method, c.path, c.body, c.headers...); got.status != c.status {
			t.Errorf("%s %.60s %v: status %d, want %d: %s", c.method, c.path, c.headers, got.status, c.status, got.body)
		}
	}
	r.call("GET", "new", "").want(404)
	if got := r.whole("s"); got != `{"a":1},{"a":2}` {
		t.Errorf("the stream holds %s", got)
	}
}

func TestWriterSequenceIsOfTheStream(t *testing.T) {
	r := open(t)
	r.make("s", asText, "")
	r.add("s", asText, "a", headerWriter, "2").want(204)
	r.add("s", asText, "x", headerWriter, "2").want(409)
	r.add("s", asText, "x", headerWriter, "10").want(409) // the values of Stream-Seq are compared as strings
	r.add("s", asText, "b").want(204)
	r.add("s", asText, "c", headerWriter, "2a").want(204)
	if got := r.whole("s"); got != "abc" {
		t.Errorf("the stream holds %q", got)
	}
}

// TestKnownAnswerIsNotSentAgain checks that a reader that already has a response (If-None-Match)
// gets 304, until the stream is closed.
func TestKnownAnswerIsNotSentAgain(t *testing.T) {
	r := open(t)
	r.make("s", asText, "abc")
	tag := r.call("GET", "s", "").want(200).header.Get("ETag")
	if got := r.call("GET", "s", "", "If-None-Match", `"x", W/`+tag).want(304); got.body != "" {
		t.Errorf("it is sent again: %s", got.body)
	}
	r.call("POST", "s", "", headerClosed, "true").want(204)
	r.call("GET", "s", "", "If-None-Match", tag).want(200).says(headerClosed, "true")
	r.call("GET", "s?offset=now", "").want(200).says("ETag", "", "Cache-Control", "no-store")
	got := r.call("GET", "s", "").says("Cache-Control", "private, no-cache")
	if policy := got.header.Get("Content-Security-Policy"); !strings.Contains(policy, "sandbox") {
		t.Errorf("a browser may run what is stored: %q", policy)
	}
}

// TestDeletedStreamIsGone checks that the offsets of a deleted stream get 410. A stream that is
// created again at the same path is another stream.
func TestDeletedStreamIsGone(t *testing.T) {
	r := open(t)
	old := r.make("s", asText, "old").next()
	r.call("DELETE", "s", "").want(204)
	r.call("GET", "s", "").want(404)
	r.call("DELETE", "s", "").want(404)
	fresh := r.make("s", asText, "newer")
	if got := r.whole("s"); got != "newer" {
		t.Errorf("the new stream holds %q", got)
	}
	r.call("GET", "s?offset="+old, "").want(410)
	r.call("GET", "s?live=sse&offset="+old, "").want(410)
	r.call("GET", "s?offset="+fresh.next(), "").want(200)
}

// restoredStore is a store with a new epoch, as after a restore from a backup.
type restoredStore struct{ store.Store }

func (r restoredStore) Epoch() uint64 { return r.Store.Epoch() + 1 }

func TestOffsetFromBeforeARestoreIsGone(t *testing.T) {
	r := open(t)
	offset := r.make("s", asText, "abc").next()
	tag := r.call("GET", "s", "").header.Get("ETag")
	restored := serve(t, restoredStore{r.store}, r.streams.hints)
	restored.call("GET", "s?offset="+offset, "").want(410)
	restored.call("GET", "s?live=long-poll&offset="+offset, "").want(410)
	restored.call("GET", "s", "", "If-None-Match", tag).want(200)
}

// TestWritersAndReadersAtOnce checks many writers and readers of one stream. The appends of each
// writer must be in order, and all readers must get the same content.
func TestWritersAndReadersAtOnce(t *testing.T) {
	r := serve(t, opentest.Store(t), lossyNotifier{})
	r.make("s", asBytes, "")
	const writers, each = 4, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				if got := r.add("s", asBytes, fmt.Sprintf("%d%d", w, i)); got.status != 204 {
					t.Errorf("status %d", got.status)
				}
			}
		})
	}
	readers := []*eventStream{r.follow("s", "-1"), r.follow("s", "-1")}
	all.Wait()
	whole := r.whole("s")
	for _, l := range readers {
		l.until(whole)
	}
	next := [writers]byte{}
	for i := 0; i < len(whole); i += 2 {
		w := whole[i] - '0'
		if whole[i+1] != '0'+next[w] {
			t.Errorf("append %c%c comes after %d others of its writer", whole[i], whole[i+1], next[w])
		}
		next[w]++
	}
	if len(whole) != 2*writers*each {
		t.Errorf("the stream holds %d bytes", len(whole))
	}
}

// TestStreamsOfAnOrgAreBounded checks that the number of an org's streams is limited, also for
// concurrent creations. The refusal says what to do. Existing streams and other orgs are not
// affected, and a deletion makes room.
func TestStreamsOfAnOrgAreBounded(t *testing.T) {
	const most = 3
	r := open(t)
	r.streams.most = most
	put := func(path string) reply { return r.call("PUT", path, "", typeName, asText) }
	var all sync.WaitGroup
	replies := make([]reply, 4*most)
	for i := range replies {
		all.Go(func() { replies[i] = put(fmt.Sprint("/acme/", i)) })
	}
	all.Wait()
	made := ""
	for i, got := range replies {
		switch got.status {
		case http.StatusCreated:
			made += fmt.Sprint(i, " ")
		case http.StatusTooManyRequests:
			for _, word := range []string{"has 3 streams", "DELETE /v1/stream/", "--streams-per-org"} {
				if !strings.Contains(got.body, word) {
					t.Errorf("the refusal says %q, not %q", got.body, word)
				}
			}
		default:
			t.Errorf("creation %d is answered %d", i, got.status)
		}
	}
	paths := strings.Fields(made)
	if len(paths) != most {
		t.Fatalf("%d streams were made, want %d", len(paths), most)
	}
	put("/acme/" + paths[0]).want(http.StatusOK)
	r.add("/acme/"+paths[0], asText, "y").want(http.StatusNoContent)
	put("/other/s").want(http.StatusCreated)
	r.call("DELETE", "/acme/"+paths[0], "").want(http.StatusNoContent)
	put("/acme/new").want(http.StatusCreated)
	if got := put("/acme/newer"); got.status != http.StatusTooManyRequests {
		t.Errorf("the one too many is answered %d", got.status)
	}
}
