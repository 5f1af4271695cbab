package chaos

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Proxy forwards connections to its target, and breaks them in the ways that networks do.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	changed chan struct{}
	rule    Rule
	links   map[*link]bool
	closed  bool
}

// Rule says what a proxy does with connections. The zero value forwards everything.
type Rule struct {
	Refuse   bool // closes connections, and new ones immediately
	HoldUp   bool // data from the caller waits
	HoldDown bool // data to the caller waits
	Delay    time.Duration
}

// Listen starts a proxy on the address.
func Listen(addr, target string) (*Proxy, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	p := &Proxy{listener: l, target: target, changed: make(chan struct{}), links: map[*link]bool{}}
	p.running.Go(p.accept)
	return p, nil
}

// Addr returns the address on which the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close ends the proxy and all its connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.change(func() { p.closed = true })
	p.Cut()
	p.running.Wait()
	return err
}

// Set changes the rule.
func (p *Proxy) Set(r Rule) {
	p.change(func() { p.rule = r })
	if r.Refuse {
		p.Cut()
	}
}

// Cut closes the existing connections at both ends.
func (p *Proxy) Cut() {
	for _, l := range p.open() {
		l.cut()
	}
}

// HalfOpen stops the data of the existing connections in both directions, without closing them. New
// connections are not affected. It returns the number of connections that it stopped.
func (p *Proxy) HalfOpen() int {
	links := p.open()
	for _, l := range links {
		p.change(func() { l.dead = true })
	}
	return len(links)
}

// Busy reports whether the proxy has connections.
func (p *Proxy) Busy() bool { return len(p.open()) > 0 }

// change runs f, which changes the state of the proxy, and wakes the goroutines that wait for a
// change.
func (p *Proxy) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Proxy) open() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*link
	for l := range p.links {
		all = append(all, l)
	}
	return all
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // the listener was closed
		}
		p.running.Go(func() { p.pass(conn) })
	}
}

func (p *Proxy) pass(caller net.Conn) {
	l := &link{proxy: p, caller: caller, ended: make(chan struct{})}
	defer l.cut()
	p.mu.Lock()
	refuse := p.rule.Refuse || p.closed
	p.mu.Unlock()
	if refuse {
		return
	}
	var err error
	if l.target, err = net.DialTimeout("tcp", p.target, time.Second); err != nil {
		return
	}
	p.change(func() { p.links[l], refuse = true, p.rule.Refuse || p.closed })
	defer p.change(func() { delete(p.links, l) })
	if refuse {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.pump(l.target, l.caller, true) })
	both.Go(func() { l.pump(l.caller, l.target, false) })
	both.Wait()
}

// link is one connection through a proxy.
type link struct {
	proxy          *Proxy
	caller, target net.Conn
	dead           bool // guarded by the proxy's mu
	once           sync.Once
	ended          chan struct{}
}

func (l *link) cut() {
	l.once.Do(func() {
		close(l.ended)
		_ = l.caller.Close()
		if l.target != nil {
			_ = l.target.Close()
		}
	})
}

// pump forwards the data of one direction of the link until that direction ends. The parameter `up`
// is true for the data from the caller.
func (l *link) pump(to io.Writer, from io.Reader, up bool) {
	defer l.cut()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && (l.hold(up) != nil || write(to, buffer[:n]) != nil) {
			return
		}
		if err != nil {
			// The end of the data is held back like data: while no data passes, the end does not pass
			// either.
			_ = l.hold(up)
			return
		}
	}
}

var errEnded = errors.New("the connection has ended")

// hold waits while the proxy's rule holds back the data of this direction, and then for the rule's
// delay.
func (l *link) hold(up bool) error {
	p := l.proxy
	for {
		p.mu.Lock()
		held := l.dead || up && p.rule.HoldUp || !up && p.rule.HoldDown
		delay, changed := p.rule.Delay, p.changed
		p.mu.Unlock()
		if !held {
			return l.wait(delay)
		}
		select {
		case <-changed:
		case <-l.ended:
			return errEnded
		}
	}
}

func (l *link) wait(d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-l.ended:
		return errEnded
	}
}

func write(to io.Writer, b []byte) error {
	_, err := to.Write(b)
	return err
}
