// Package scripted is a provider that plays conversations from text files: for
// demonstrations, for the tests of agents, and for trying a deployment without
// a key. It costs nothing and needs no network.
//
// A model is written scripted/FILE, where FILE is a path below the provider's
// directory. Which turn is played follows from the request alone: a request
// with n assistant messages gets turn n+1. So any worker can play on after a
// crash, and a call that is repeated gets the same answer.
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
// Each line is a word and what follows it. In a turn:
//
//	text WORDS          says something; text lines that follow one another are lines of one text
//	thinking WORDS      the same as reasoning
//	call NAME {JSON}    calls a tool; the JSON may run over several lines. Several calls are made
//	                    in parallel. NAME alone has the arguments {}.
//	pace DURATION       waits so long before each later piece (a word, or 16 bytes of arguments)
//	pause DURATION      waits once
//	usage in=N out=N reasoning=N cacheRead=N cacheWrite=N
//	                    the tokens counted; without it a quarter of the bytes
//	stop REASON         end_turn, tool_use, max_tokens or refusal; without it tool_use after a call
//	fail KIND MESSAGE   breaks off with an error of package llm: rate_limited, overloaded, timeout,
//	                    network, empty_answer, auth, invalid_request, refused, unknown
//	expect WORDS        fails the call unless WORDS stand in what is new
//	when WORDS          begins an alternative, played if WORDS stand in what is new
//	else                begins the alternative played if no other is
//
// What is new are the messages after the last answer: the results of its tool
// calls and what the user has said since. Of several alternatives the first
// that fits is played; lines before the first "when" are played in any case. A
// pace before the first turn holds for all turns.
//
// "text", "thinking" and "call NAME" also take <<MARK: the lines up to one that
// is just MARK, exactly as they stand but for the indentation of that last
// line. In this way a call can have arguments that are not JSON.
//
// After its last turn a script answers with an error that says so.
//
// # The journal
//
// With Config.Journal each call appends one line of JSON to that file when it
// starts, so the file counts the calls that a real provider would have charged:
// {"at", "model", "turn", "messages", "sha256", "previous"}. The hash sha256 is
// of system prompt, tools and messages, previous is of the same without the
// last answer and what came after it. If a prompt is rebuilt byte for byte,
// previous equals the sha256 of the call before.
package scripted
