package front_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/longtest"
)

// TestBodiesThatTrickle checks that a request whose body arrives too slowly gets an error, or its
// connection is closed without a response.
func TestBodiesThatTrickle(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t, func(c *face.Config) { c.BodyTimeout = 200 * time.Millisecond })
	x := h.Start("")
	for _, line := range []string{
		"POST /api/orgs/default/agent-executions", "POST /api/login", "PUT /v1/stream/s", "POST /v1/responses",
		"POST /api/orgs/default/agent-executions/" + x.ID.String() + "/signal",
	} {
		t.Run(line, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", line, h.ClientKey)
			in := bufio.NewReader(conn)
			res, err := http.ReadResponse(in, nil) // the response arrives before the whole body was sent
			if err != nil {
				if !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				return
			}
			if res.StatusCode < 400 {
				t.Errorf("half a body was answered %s", res.Status)
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				t.Fatal(err)
			}
			if _, err := in.ReadByte(); err == nil {
				t.Error("the connection goes on")
			}
		})
	}
}

// TestStreamsOutliveTheirBodies checks that the timeout for the body of a POST does not end the
// event stream that is the response to this POST.
func TestStreamsOutliveTheirBodies(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t, func(c *face.Config) { c.BodyTimeout, c.PingEvery = 100*time.Millisecond, 300*time.Millisecond })
	res, err := http.DefaultClient.Do(h.Request("POST", "./v1/responses", `{"model":"scripted/m","input":"hi","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in, pings := bufio.NewScanner(res.Body), 0
	for pings < 2 && in.Scan() {
		if strings.HasPrefix(in.Text(), ":") {
			pings++
		}
	}
	if pings < 2 {
		t.Errorf("the stream %s ended after %d pings: %v", res.Status, pings, in.Err())
	}
}

// TestHeadersHaveTheirTime checks that a client has at most 10 s to send the headers of a request.
func TestHeadersHaveTheirTime(t *testing.T) {
	s := front.NewServer(http.NotFoundHandler(), nil)
	if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > 10*time.Second {
		t.Errorf("headers may take %s", s.ReadHeaderTimeout)
	}
}

// TestDecompressionBombsAreRefused checks that bodies that are compressed, deeply nested or invalid,
// or contain huge numbers, get 400. No execution is created.
func TestDecompressionBombsAreRefused(t *testing.T) {
	h := open(t)
	bomb := strings.Repeat("[", 4<<20)
	for name, body := range map[string]string{
		"depth":       `{"kind":"agent","input":` + bomb + `}`,
		"closed":      `{"kind":"agent","input":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`,
		"keys":        strings.Repeat(`{"kind":`, 1<<19),
		"huge number": `{"kind":"agent","userPrompt":1e999999999}`,
		"huge limit":  `{"name":"n","role":"client","limits":{"maxRunning":1e300}}`,
	} {
		path := "/agent-executions"
		if name == "huge limit" {
			path = "/keys"
		}
		if r := h.Call("POST", path, body, "Authorization", "Bearer "+h.AdminKey); r.Status != 400 {
			t.Errorf("%s: %d %.200s", name, r.Status, r.Body)
		}
	}
	if r := h.Call("POST", "/agent-executions", "\x1f\x8b\x08\x00\x00\x00\x00\x00", "Content-Encoding", "gzip"); r.Status != 400 {
		t.Errorf("gzip: %d %.200s", r.Status, r.Body)
	}
	if r := h.Call("GET", "/agent-executions", ""); strings.Contains(string(r.Body), `"id"`) {
		t.Errorf("it was made: %.300s", r.Body)
	}
}
