// Package chaos contains the parts of the fault suite that need no processes. A seed chooses a plan
// of faults. A proxy breaks connections in the ways that networks do. Scripts define the agents'
// conversations, and checks examine the results. Package e2e runs the suite.
package chaos
