package serving

import (
	"net/url"
	"strconv"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

// serverCommand is a command that owns the data directory while it runs.
type serverCommand struct {
	*setup.App
	addr, grpcAddr string
	lease          time.Duration
	queueLimits    map[string]int
	worker         builtin.Worker
	noPark         bool
	registry       *prometheus.Registry
	payloadLimit   int // in MiB
	origins        []string
	publicURL      string
	tlsCert        string
	tlsKey         string
	clientCA       string
	streamsPerKey  int
	streamsPerOrg  int
	orgsCPU        int
	nats           string
	natsCreds      string
	natsCA         string
	opsAddr        string
	drainDelay     time.Duration
	when           string
	allowPrivate   bool
}

func (s *serverCommand) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.addr, "addr", "127.0.0.1:8080", "address for HTTP: API and web page")
	f.StringVar(&s.grpcAddr, "grpc-addr", "127.0.0.1:9090", "address for workers (gRPC)")
	setup.CountFlag(f, &s.payloadLimit, "payload-limit", "", perdure.DefaultPayloadLimit>>20, 1, 1024, "the most MiB of one input, result, entry or signal")
	f.StringSliceVar(&s.origins, "origin", nil, "origins whose pages may use the API besides the server's own, like https://app.example.com")
	f.StringVar(&s.publicURL, "public-url", "", "address under which browsers open the pages through a proxy, like https://perdure.example.com; with https their cookies are Secure")
	f.StringVar(&s.tlsCert, "tls-cert", "", "certificate (PEM, with those that lead to its root) to serve HTTP and gRPC over TLS with; a renewed one is taken up")
	f.StringVar(&s.tlsKey, "tls-key", "", "key (PEM) of --tls-cert")
	f.StringVar(&s.clientCA, "tls-client-ca", "", "authorities (PEM) of which workers have to have a certificate, beside their key")
	setup.CountFlag(f, &s.streamsPerKey, "streams-per-key", "", 20_000, 1, setup.Unbounded, "how many streams may be open with one key")
	setup.CountFlag(f, &s.streamsPerOrg, "streams-per-org", "", 10_000, 1, setup.Unbounded, "how many durable streams an org may have")
	setup.CountFlag(f, &s.orgsCPU, "orgs-cpu", "", server.DefaultOrgsCPU, 0, 100, "percentage of the processors of which each active org has an equal part while requests wait for a processor; 0 does not limit orgs")
	f.BoolVar(&s.allowPrivate, "webhook-allow-private", false, "let webhooks send to private and loopback addresses, for endpoints in your own network")
	opsFlag(cmd, &s.opsAddr)
	checkFlag(cmd, &s.when)
	f.DurationVar(&s.drainDelay, "drain-delay", 0, "how long to serve after a signal to stop while /readyz already says no, so that load balancers notice")
	f.DurationVar(&s.lease, "lease", 15*time.Second, "how long a worker may be silent before its work goes to another")
	f.StringToIntVar(&s.queueLimits, "queue-limit", nil, "how many tasks of one org run at once on a queue, as name=N")
}

func (s *serverCommand) check() error {
	if s.lease < time.Second {
		return setup.NewUsageError("--lease must be at least 1s", "")
	}
	if (s.tlsCert == "") != (s.tlsKey == "") {
		return setup.NewUsageError("--tls-cert and --tls-key go together", "give both, or neither")
	}
	if s.clientCA != "" && s.tlsCert == "" {
		return setup.NewUsageError("--tls-client-ca needs TLS", "give --tls-cert and --tls-key, too")
	}
	for queue, n := range s.queueLimits {
		if n < 1 {
			return setup.NewUsageError("--queue-limit "+queue+"="+strconv.Itoa(n)+" lets nothing run", "give at least 1")
		}
	}
	for _, origin := range s.origins {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" {
			return setup.NewUsageError("--origin "+origin+" is no origin", "give scheme and host, like https://app.example.com")
		}
	}
	if _, err := server.ParsePublicURL(s.publicURL); err != nil {
		return setup.NewUsageError("--public-url "+s.publicURL+" is no address", "give scheme and host without a path, like https://perdure.example.com")
	}
	if s.drainDelay < 0 {
		return setup.NewUsageError("--drain-delay must not be negative", "")
	}
	return checkCheckFlag(s.when)
}

// ofProcessors returns the value of Config.OrgsCPU for the flag --orgs-cpu. The flag's 0 means no
// limit, for which the field has a negative value.
func (s *serverCommand) ofProcessors() int {
	if s.orgsCPU == 0 {
		return -1
	}
	return s.orgsCPU
}
