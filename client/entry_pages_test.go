package client

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// entryServer returns a client whose server sends pages of two entries. The server sends the number of
// each requested page to the returned channel.
func entryServer(t *testing.T, pages int, end func(next string) string) (*Client, chan int) {
	t.Helper()
	asked := make(chan int, 100)
	c, _ := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		asked <- n
		next := ""
		if n+1 < pages {
			next = strconv.Itoa(n + 1)
		}
		_, _ = io.WriteString(w, `{"items":[`+entryOf(2*n)+`,`+entryOf(2*n+1)+`],`+end(next)+"\n")
	}))
	return c, asked
}

// entryOf returns an entry whose content ends like a page: with a member nextCursor. The client
// must not take this member for the cursor of the page.
func entryOf(n int) string {
	return fmt.Sprintf(`{"id":"%s","content":{"text":"\"nextCursor\":\"77\"}","nextCursor":"77"}}`, idOf(n))
}

func idOf(n int) uuid.UUID { return uuid.UUID{15: byte(n + 1)} }

func cursorLast(next string) string {
	if next == "" {
		return `"nextCursor":null}`
	}
	return `"nextCursor":"` + next + `"}`
}

// TestEntriesComeInOrder checks that every entry is returned once and in order, wherever the member
// nextCursor is in a page. Each page is requested once.
func TestEntriesComeInOrder(t *testing.T) {
	for name, end := range map[string]func(string) string{
		"as servers write it": cursorLast,
		"with blanks":         func(next string) string { return strings.ReplaceAll(cursorLast(next), "}", " } ") },
		"before another": func(next string) string {
			return strings.TrimSuffix(cursorLast(next), "}") + `,"more":{"nextCursor":"77"}}`
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, asked := entryServer(t, 5, end)
			n := 0
			for e, err := range c.AllEntries(t.Context(), anID) {
				if err != nil || e.ID != idOf(n) {
					t.Fatalf("entry %d is %s, %v", n, e.ID, err)
				}
				n++
			}
			if n != 10 || len(asked) != 5 {
				t.Errorf("%d entries from %d requests", n, len(asked))
			}
		})
	}
}

// TestPagesOfEntriesAreReadAhead checks that from the second page on, the client requests the next page
// before it returns the entries of the current page. With the first page, it requests no other page.
func TestPagesOfEntriesAreReadAhead(t *testing.T) {
	c, asked := entryServer(t, 5, cursorLast)
	n := 0
	for _, err := range c.Entries(t.Context(), anID) {
		if err != nil {
			t.Fatal(err)
		}
		switch n {
		case 1:
			if len(asked) != 1 {
				t.Errorf("%d pages were asked for in the first", len(asked))
			}
		case 2: // the first entry of the second page
			for _, want := range []int{0, 1, 2} {
				if got := <-asked; got != want {
					t.Errorf("page %d was asked for, want %d", got, want)
				}
			}
		}
		if n++; n == 3 {
			break
		}
	}
	if len(asked) != 0 {
		t.Errorf("%d pages more were asked for", len(asked))
	}
}

// TestAPageThatBreaksOff checks that a response that breaks off is an error. The error is returned
// once, and the entries before the break are returned.
func TestAPageThatBreaksOff(t *testing.T) {
	c, _ := entryServer(t, 5, func(next string) string {
		if next == "3" {
			return `"nextCur`
		}
		return cursorLast(next)
	})
	n, failed := 0, 0
	for _, err := range c.Entries(t.Context(), anID) {
		if err != nil {
			failed++
			continue
		}
		n++
	}
	if n != 4 || failed != 1 {
		t.Errorf("%d entries and %d errors", n, failed)
	}
}

// TestAnswersOnThisMachineAreNotCompressed checks that the client does not request compression from
// a server at a loopback address, but requests it from other servers.
func TestAnswersOnThisMachineAreNotCompressed(t *testing.T) {
	for host, want := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://127.9.9.9": true, "https://[::1]:8080": true, "http://localhost": true,
		"http://10.0.0.1": false, "https://perdure.example": false, "http://localhost.example": false, "http://[fe80::1]": false,
	} {
		c, err := New(Options{BaseURL: host})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.o.HTTPClient.Transport.(*http.Transport).DisableCompression; got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}
