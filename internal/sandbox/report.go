package sandbox

import "fmt"

// EndMark is the start of a report of the command's end. Any other report of a sandbox child is the
// reason why it could not start the command.
const EndMark = "\x00end "

func endReport(code, signal int) string { return fmt.Sprintf("%s%d %d\n", EndMark, code, signal) }
