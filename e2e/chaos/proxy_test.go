package chaos

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo starts a server that answers every line with the server's name and that line. The server
// runs until stop is called or the test ends.
func echo(t *testing.T, name string) (addr string, stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for in := bufio.NewScanner(conn); in.Scan(); {
					if _, err := io.WriteString(conn, name+" "+in.Text()+"\n"); err != nil {
						return
					}
				}
			}()
		}
	}()
	stop = func() { l.Close(); <-ended }
	t.Cleanup(stop)
	return l.Addr().String(), stop
}

type caller struct {
	*testing.T
	net.Conn
	in *bufio.Reader
}

func call(t *testing.T, p *Proxy) caller {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return caller{t, conn, bufio.NewReader(conn)}
}

func (c caller) say(line string) {
	c.Helper()
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		c.Fatal(err)
	}
}

func (c caller) hears(want string) {
	c.Helper()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		c.Fatal(err)
	}
	if got, err := c.in.ReadString('\n'); got != want+"\n" {
		c.Fatalf("heard %q, %v, not %q", got, err, want)
	}
}

// silent checks that for a moment neither data nor the end of the connection arrives.
func (c caller) silent() {
	c.Helper()
	if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		c.Fatal(err)
	}
	if got, err := c.in.ReadString('\n'); !errors.Is(err, os.ErrDeadlineExceeded) {
		c.Fatalf("heard %q, %v", got, err)
	}
}

func (c caller) isCut() {
	c.Helper()
	if err := c.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		c.Fatal(err)
	}
	if got, err := c.in.ReadString('\n'); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.Fatalf("heard %q, %v", got, err)
	}
}

func listen(t *testing.T, target string) *Proxy {
	t.Helper()
	p, err := Listen("127.0.0.1:0", target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func TestProxyBreaksConnections(t *testing.T) {
	addr, _ := echo(t, "a")
	p := listen(t, addr)
	c := call(t, p)
	c.say("one")
	c.hears("a one")

	p.Set(Rule{HoldUp: true})
	c.say("two")
	c.silent()
	p.Set(Rule{})
	c.hears("a two")

	p.Set(Rule{HoldDown: true})
	c.say("three")
	c.silent()
	p.Set(Rule{})
	c.hears("a three")

	if n := p.HalfOpen(); n != 1 {
		t.Errorf("%d connections are dead", n)
	}
	c.say("four")
	c.silent()
	p.Set(Rule{})
	c.silent()

	other := call(t, p)
	other.say("five")
	other.hears("a five")
	p.Set(Rule{Refuse: true})
	other.isCut()
	call(t, p).isCut()
	p.Set(Rule{})
	other = call(t, p)
	other.say("six")
	other.hears("a six")
}

func TestProxyDelays(t *testing.T) {
	addr, _ := echo(t, "a")
	p := listen(t, addr)
	p.Set(Rule{Delay: 60 * time.Millisecond})
	c, began := call(t, p), time.Now()
	c.say("one")
	c.hears("a one")
	if took := time.Since(began); took < 120*time.Millisecond {
		t.Errorf("there and back took %s", took)
	}
}

func TestProxyIsBusy(t *testing.T) {
	addr, _ := echo(t, "a")
	p := listen(t, addr)
	if p.Busy() {
		t.Error("a proxy without a connection is busy")
	}
	c := call(t, p)
	c.say("one")
	c.hears("a one")
	if !p.Busy() {
		t.Error("a proxy with a connection is not busy")
	}
}
