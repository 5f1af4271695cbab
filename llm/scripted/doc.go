// Package scripted is a provider that plays conversations from text files. It is for demonstrations,
// for the tests of agents, and for trying a deployment without a key. It costs nothing and needs no
// network.
//
// The name of a model is scripted/FILE, where FILE is a path below the provider's directory. The
// turn to play depends only on the request: a request with n assistant messages gets turn n+1. So
// any worker can continue after a crash, and a repeated call gets the same answer.
//
// # A script
//
//	# A line that begins with "#" is a comment; indentation does not count.
//	turn
//	  thinking The user wants to know what is here.
//	  text     I will look around.
//	  call     bash {"command": "ls"}
//	  call     read-file {"path": "go.mod"}
//
//	turn
//	  when interrupted
//	    text The command was interrupted, so I stop here.
//	  else
//	    text <<END
//	  There are two files:
//
//	  - go.mod
//	  - main.go
//	  END
//	    usage in=1200 out=40
//
// # Words
//
// Each line is a word and its operands. The words of a turn are:
//
//	text WORDS          the text of the answer; consecutive text lines are lines of one text
//	thinking WORDS      reasoning, in the form of text
//	call NAME {JSON}    calls a tool; the JSON may run over several lines. Several calls are made
//	                    in parallel. NAME without JSON has the arguments {}.
//	pace DURATION       waits before each later piece (a word, or 16 bytes of arguments)
//	pause DURATION      waits once
//	usage in=N out=N reasoning=N cacheRead=N cacheWrite=N
//	                    the tokens counted; without it a quarter of the bytes
//	stop REASON         end_turn, tool_use, max_tokens, context_length or refusal; without it
//	                    tool_use after a call, else end_turn
//	fail KIND MESSAGE   ends the call with an error of package llm: rate_limited, overloaded, timeout,
//	                    network, empty_answer, auth, invalid_request, context_length, refused,
//	                    unknown
//	expect WORDS        fails the call unless the new messages contain WORDS
//	when WORDS          begins an alternative, played if the new messages contain WORDS
//	else                begins the alternative that is played if no other fits
//
// The new messages are those after the last answer: the results of its tool calls and the user's
// messages. Of several alternatives, the first that fits is played. Lines before the first "when"
// are always played. A pace before the first turn applies to all turns.
//
// "text", "thinking" and "call NAME" also accept <<MARK: the following lines up to a line with only
// MARK are the operand. They are unchanged, except that the indentation of the MARK line is removed
// from them. In this way a call can have arguments that are not JSON.
//
// # Compaction
//
// The section "summary" is played, instead of a turn, if a request asks for the summary of its
// conversation (llm.PurposeCompaction); its words are those of a turn. Without the section, the summary
// is a fixed text. The summary ends with the number of answers in the conversation, as in
// "(12 answers before)". A conversation that begins with this summary gets turn 13 if it has no further
// assistant message.
//
// After the last turn of a script, the provider returns an error that says so.
//
// # The journal
//
// With Config.Journal, each call appends one line of JSON to that file when it starts:
// {"at", "model", "turn", "messages", "sha256", "previous"}. So the file counts the calls for which
// a real provider would have charged. The hash sha256 covers the system prompt, the tools and the
// messages. The hash previous covers the same without the last answer and the messages after it. If
// a prompt is rebuilt byte for byte, previous equals the sha256 of the previous call.
package scripted
