package openaiapi_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// A reader of a response that takes nothing is cut off, and what it has got does
// not look like the whole. Nobody waits for it: the response ends, and is there.
func TestReaderOfAResponseThatNeverReadsIsCutOff(t *testing.T) {
	text := strings.Repeat("a word, ", 1<<19) // with what repeats it, more than the kernel holds
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
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil) // the head, and no more
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s.open.Wait() // for ever, if it is waited for
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
