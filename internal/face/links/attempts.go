package links

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// attemptsAtOnce is the number of invalid link tokens that one client address may try without a
	// pause. After that, one more token may be tried after every attemptPause.
	attemptsAtOnce = 30
	attemptPause   = 2 * time.Second
	// addressesKept is the maximum number of addresses whose attempts are counted.
	addressesKept = 10_000
)

// attempts counts the invalid link tokens that each client address has tried. The zero value is
// ready to use.
type attempts struct {
	mu sync.Mutex // guards until
	// until has, for each address, the time at which its attempts no longer count. Each attempt
	// moves this time attemptPause later.
	until map[netip.Prefix]time.Time
}

// wait returns how long the address must wait before its next attempt; 0 if it may try now.
func (a *attempts) wait(address string) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	until, tried := a.until[network(address)]
	if !tried {
		return 0
	}
	return max(0, time.Until(until)-(attemptsAtOnce-1)*attemptPause)
}

// count counts an attempt of the address with an invalid token.
func (a *attempts) count(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.until == nil || len(a.until) >= addressesKept {
		a.until = map[netip.Prefix]time.Time{}
	}
	from, now := network(address), time.Now()
	if a.until[from].Before(now) {
		a.until[from] = now
	}
	a.until[from] = a.until[from].Add(attemptPause)
}

// network returns the network whose attempts are counted together with those of the address. For
// IPv6 this network is the /64, because one host can use all addresses of a /64. For IPv4 it is the
// address itself.
func network(address string) netip.Prefix {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return netip.Prefix{}
	}
	at = at.Unmap().WithZone("")
	bits := at.BitLen()
	if at.Is6() {
		bits = 64
	}
	prefix, _ := at.Prefix(bits) // the number of bits fits
	return prefix
}
