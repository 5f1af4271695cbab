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

var (
	carrierNAT = netip.MustParsePrefix("100.64.0.0/10")
	thisNet    = netip.MustParsePrefix("0.0.0.0/8")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

// permits tells whether a connection to host may go to addr, to which host has
// been resolved. The check is made on the address that is dialled, so a name
// that resolves differently a second time gains nothing.
func (p dialPolicy) permits(host string, addr netip.Addr) bool {
	addr = plain(addr)
	configured := slices.Contains(p.allowHosts, strings.ToLower(host))
	switch {
	case addr.IsUnspecified(), addr.IsMulticast(), thisNet.Contains(addr):
		return false
	case addr.IsLoopback():
		return p.allowLoopback || configured
	case addr.IsLinkLocalUnicast():
		// Clouds serve credentials there: only an address that the operator
		// wrote out himself is meant.
		literal, err := netip.ParseAddr(host)
		return configured && err == nil && plain(literal) == addr
	case addr.IsPrivate(), carrierNAT.Contains(addr):
		return configured
	}
	return true
}

// plain takes an IPv4 address out of the IPv6 forms that hide it.
func plain(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if nat64.Contains(addr) {
		b := addr.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return addr
}
