package openai_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/openai"
	"github.com/perdure/perdure/internal/longtest"
)

// TestReaderOfAResponseThatNeverReadsIsCutOff checks that a client that opens the stream of a
// response and never reads it is disconnected. The part of the stream that it has received is not a
// complete stream. The response ends without waiting for the client, and can be retrieved.
func TestReaderOfAResponseThatNeverReadsIsCutOff(t *testing.T) {
	longtest.Skip(t, "seconds")
	text := strings.Repeat("a word, ", 1<<19) // together with the events that repeat it, more than the kernel buffers
	s := newStage(t, says(text))
	host := strings.TrimPrefix(s.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const body = `{"model":"test/m","input":"hi","stream":true}`
	_, err = fmt.Fprintf(conn, "POST /v1/responses HTTP/1.1\r\nHost: %s\r\n%s: yes\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", host, impatientHeader, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil) // reads only the headers
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s.open.Wait() // blocks forever if the server waits for the reader
	got, err := io.ReadAll(res.Body)
	if err == nil {
		t.Error("what a reader that was cut off has got looks like the whole")
	}
	id := responseID.FindString(string(got))
	if whole := s.untilEnd(id); whole.Status != "completed" || whole.text() != text {
		t.Errorf("the response is %s with %d bytes", whole.Status, len(whole.text()))
	}
}

var responseID = regexp.MustCompile(`resp_[A-Za-z0-9]+`)

// TestReaderOverTheLimitIsRefused checks requests that Config.Read refuses because the key has too
// many open streams. The client gets an error, and no execution is started.
func TestReaderOverTheLimitIsRefused(t *testing.T) {
	s := newStageWith(t, func(c *openai.Config) {
		c.Read = func(*http.Request) (func(), *openai.Error) {
			return nil, openai.ErrorOf(perdure.RateLimited, 0, "no room")
		}
	}, says("Hello."))
	o := s.create(`"input":"hi","background":true`).object()
	for _, c := range [][3]string{
		{"GET", "/v1/responses/" + o.ID + "?stream=true"},
		{"POST", "/v1/responses", `{"model":"test/m","input":"hi"}`},
		{"POST", "/v1/responses", `{"model":"test/m","input":"hi","stream":true,"background":true}`},
	} {
		if r := s.call(c[0], c[1], c[2]); r.status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", c[1], r.status, r.body)
		}
	}
	if n := s.executions(); n != 1 {
		t.Errorf("%d runs", n)
	}
}
