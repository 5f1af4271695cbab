// Package dial connects to addresses that a policy permits. The check applies to the address that is
// dialled, after the name was resolved.
package dial

import (
	"net/netip"
	"slices"
	"strings"
)

// Policy decides to which addresses a program may connect. The zero value permits only public
// addresses.
type Policy struct {
	// AllowLoopback permits loopback addresses. AllowPrivate permits loopback addresses and private
	// networks.
	AllowLoopback, AllowPrivate bool
	// AllowHosts are host names and addresses that an operator configured, in lower case and
	// without port. Connections to them may use private and loopback addresses.
	AllowHosts []string
}

// internal are networks, in addition to netip's private ones, to which only hosts in AllowHosts may
// resolve. nowhere are networks to which no host may resolve: they have no servers, or are tunnels
// that hide the real target.
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

// Permits reports whether a connection to host may use addr, one of the addresses to which host was
// resolved. The caller must then connect to addr itself. If the caller resolved host again, the
// result could be an address that was not checked.
func (p Policy) Permits(host string, addr netip.Addr) bool {
	addr = plain(addr)
	configured := slices.Contains(p.AllowHosts, strings.ToLower(host))
	switch {
	case addr.IsUnspecified(), addr.IsMulticast(), within(nowhere, addr):
		return false
	case addr.IsLoopback():
		return p.AllowLoopback || p.AllowPrivate || configured
	case addr.IsLinkLocalUnicast():
		// Clouds serve credentials at link-local addresses. Such an address is allowed only if the
		// operator configured the address itself, not a name.
		literal, err := netip.ParseAddr(host)
		return configured && err == nil && plain(literal) == addr
	case addr.IsPrivate(), within(internal, addr):
		return p.AllowPrivate || configured
	}
	return true
}

// hidden are the networks of IPv6 addresses that contain an IPv4 address. The field `in` is such a
// network, and `at` is the index of the first byte of the IPv4 address.
var hidden = []struct {
	in netip.Prefix
	at int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},   // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // local-use NAT64
	{netip.MustParsePrefix("2002::/16"), 2},       // 6to4
	{netip.MustParsePrefix("::/96"), 12},          // IPv4-compatible
}

// plain returns the IPv4 address that an IPv6 address contains. It returns any other address
// unchanged.
func plain(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.IsLoopback() || addr.IsUnspecified() {
		return addr // ::1 and :: only look like embedded addresses
	}
	for _, h := range hidden {
		if h.in.Contains(addr) {
			b := addr.As16()
			return netip.AddrFrom4([4]byte(b[h.at : h.at+4]))
		}
	}
	return addr
}
