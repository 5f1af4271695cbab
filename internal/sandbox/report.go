package sandbox

import "fmt"

// EndMark begins a report of the command's end; what else a sandbox child reports
// is why it could not start the command.
const EndMark = "\x00end "

func endReport(code, signal int) string { return fmt.Sprintf("%s%d %d\n", EndMark, code, signal) }
