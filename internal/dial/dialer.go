package dial

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// Dialer resolves host names, and connects only to addresses that a policy permits.
type Dialer struct {
	// Timeout is the maximum duration of one call of Dial.
	Timeout time.Duration
	Policy  Policy
	// Refused creates the error that Dial returns if a name has an address that the policy does not
	// permit. The parameter addr is that address, or the zero value if the address cannot be parsed.
	Refused func(host string, addr netip.Addr) error
	// Resolver resolves names; nil means net.DefaultResolver.
	Resolver *net.Resolver
}

// Dial connects to an address (host:port). For this call, hosts are added to the policy's AllowHosts.
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
