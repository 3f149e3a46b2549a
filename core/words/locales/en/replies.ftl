# Buttons
button-cancel = Cancel
button-stop-call = Stop { $tool }
button-again = Try again
button-details = Details
button-allow = Allow once
button-allow-session = Allow in this session
button-deny = Deny
button-deny-why = Deny with a reason
button-send = Send
choice-yes = yes
choice-no = no

# Around a reply
reply-repeated = (you may have received this already)
reply-nothing = (no output)
reply-file = { $messages ->
    [one] The answer is too long for one message: it goes on in the file.
   *[other] The answer is too long for { $messages } messages: it goes on in the file.
}
reply-cut = … (cut here: { $count } characters in all)
reply-same = { $count ->
    [one] The same holds for 1 more command.
   *[other] The same holds for { $count } more commands.
}
reply-reference = ref
reply-named-file = [file { $name }]
reply-model-cut = … (the answer was cut off here)
reply-model-tried = What was done for it:
reply-working = is working on it…
reply-not-here = I am not available here

# Files that came with a message
file-unused = The file '{ $name }' was not used: this command takes no file.
files-unused = The { $count } files were not used: this command takes none.
file-thanks = Thank you, but a file alone says nothing to me: write the command that takes it beside the file.

# Progress
progress-counted = Working on it: { $done } of { $count } done
progress-timed = Working on it ({ $seconds } s)
progress-more = and { $count } more
waits-behind = Your message waits: { $count } are answered before it.

# Free text where no model plans
free-nothing = I run commands here. Send /help to see what can be done.
free-near = I run commands here. Perhaps one of these is what you look for:
free-all = Send /tools to see them all.

# /start, /help, /tools
start-hello = Hello. I run tools for you and tell you what became of them.
help-write = Write a command: `/name value` or `/name key=value`. Several commands on lines of their own run at once.
help-more = and { $count } more: /tools
help-own = And of myself:
tools-none = No tool can be used here at present.
tools-no-match = No tool here has to do with `{ $word }`. Send /tools for all.
builtin-help = what can be done here
builtin-tools = the tools that you can use here; /tools WORD narrows it
builtin-trace = what happened in a request: /trace REF
builtin-stop = stop what is running for you
builtin-new = start a new conversation; /resume goes back to the one before
builtin-status = what is running and how the gateway fares
builtin-start = the first words

# /stop, /new, /status, /trace
stop-nothing = Nothing of yours is running here.
new-begun = A new conversation. What was said before is not used any more; /sessions shows how to go back to it.
status-nothing = Nothing runs in this conversation.
status-running = Running in this conversation:
status-line = { $asked } ({ $seconds } s, `{ $reference }`)
status-waiting = { $count ->
    [one] 1 message waits behind it.
   *[other] { $count } messages wait behind it.
}
status-well = The gateway is well.
status-troubled = { $count } parts of the gateway need attention; an operator sees which.
trace-unreadable = The call trees cannot be read just now; try again in a moment.
