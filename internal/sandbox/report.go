package sandbox

import "fmt"

// EndMark is the start of a report that says how the command has ended. Any other report says why
// the sandbox child could not start the command.
const EndMark = "\x00end "

func endReport(code, signal int) string { return fmt.Sprintf("%s%d %d\n", EndMark, code, signal) }
