package llm

import (
	"net/netip"
	"slices"
	"strings"
)

// dialPolicy decides which addresses a model call may reach.
type dialPolicy struct {
	allowLoopback bool
	allowHosts    []string // lower case, without port
}

// internal are the networks beside netip's own private ones in which only what
// the operator configured is meant; nowhere are those that no server is at, and
// tunnels that hide where they lead.
var (
	internal = prefixes("100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "fec0::/10")
	nowhere  = prefixes("0.0.0.0/8", "240.0.0.0/4", "2001::/32")
)

func prefixes(all ...string) []netip.Prefix {
	var ps []netip.Prefix
	for _, s := range all {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}

func within(ps []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(ps, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// permits reports whether a connection to host may go to addr, to which host has
// been resolved. The check is made on the address that is dialled, so a name
// that resolves differently a second time gains nothing.
func (p dialPolicy) permits(host string, addr netip.Addr) bool {
	addr = plain(addr)
	configured := slices.Contains(p.allowHosts, strings.ToLower(host))
	switch {
	case addr.IsUnspecified(), addr.IsMulticast(), within(nowhere, addr):
		return false
	case addr.IsLoopback():
		return p.allowLoopback || configured
	case addr.IsLinkLocalUnicast():
		// Clouds serve credentials there: only an address that the operator
		// wrote out himself is meant.
		literal, err := netip.ParseAddr(host)
		return configured && err == nil && plain(literal) == addr
	case addr.IsPrivate(), within(internal, addr):
		return configured
	}
	return true
}

// hidden are the networks of IPv6 whose addresses stand for one of IPv4, and at
// which byte that begins.
var hidden = []struct {
	in netip.Prefix
	at int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // NAT64 of a network's own
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4
	{netip.MustParsePrefix("::/96"), 12},          // IPv4-compatible
}

// plain takes an IPv4 address out of the IPv6 forms that hide it.
func plain(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.IsLoopback() || addr.IsUnspecified() {
		return addr // ::1 and :: look as if they stood for others
	}
	for _, h := range hidden {
		if h.in.Contains(addr) {
			b := addr.As16()
			return netip.AddrFrom4([4]byte(b[h.at : h.at+4]))
		}
	}
	return addr
}
