package dial

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// Dialer resolves names and connects under a policy.
type Dialer struct {
	// Timeout limits a dial.
	Timeout time.Duration
	Policy  Policy
	// Refused returns the error for a host at an address that the policy does not permit. addr is
	// the zero value if the address cannot be read.
	Refused func(host string, addr netip.Addr) error
	// Resolver resolves names; nil is the default one.
	Resolver *net.Resolver
}

// Dial connects to an address (host:port). The hosts are permitted in addition to those of the
// policy.
func (d *Dialer) Dial(ctx context.Context, network, address string, hosts ...string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	policy := d.Policy
	for _, more := range hosts {
		policy.AllowHosts = append([]string{strings.ToLower(more)}, policy.AllowHosts...)
	}
	n := net.Dialer{Timeout: d.Timeout, KeepAlive: 30 * time.Second, Resolver: d.Resolver}
	n.ControlContext = func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
		addr, err := netip.ParseAddrPort(resolved)
		if err != nil || !policy.Permits(host, addr.Addr()) {
			return d.Refused(host, addr.Addr())
		}
		return nil
	}
	return n.DialContext(ctx, network, address)
}
