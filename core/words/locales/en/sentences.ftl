# Sentences that are made where something fails. They are recognised by their English here and said in the reader's
# language; what is in none of them is a tool owner's own and is shown as it was written. One line each; a variable whose
# name is a group's (said, why, what, wait, expected, other, advice, note) is recognised in turn.

## What went wrong
say-model-silent = the language model did not answer
say-model-late = the language model did not answer in time
say-model-waits = the language model is asked too often
say-model-empty = the language model gave an empty answer
say-model-broke = the language model's answer broke off
say-model-long = the language model answered more than { $size } MiB
say-model-overflow = the conversation is too long for the language model
say-args-one = '{ $tool }' cannot run with these arguments: one thing is wrong
say-args-some = '{ $tool }' cannot run with these arguments: { $count } things are wrong
say-args-many = '{ $tool }' cannot run with these arguments: { $count } things or more are wrong
say-args-long = the arguments are longer than { $size } KiB
say-args-kind = the arguments are { $what }, not an object
say-args-digits = a number in the arguments has too many digits to be kept exactly
say-args-deep = the arguments are nested deeper than { $levels } levels
say-args-cut = the arguments end in the middle
say-args-json = the arguments are not readable JSON at character { $column }
say-args-json-line = the arguments are not readable JSON at line { $line }, character { $column }
say-values-refused = '{ $tool }' cannot be called with these values
say-not-here = '{ $tool }' is not available here
say-removed = '{ $tool }' was removed just now
say-needs-approval = '{ $tool }' needs an approval, and nobody can give one here
say-not-at-present = '{ $tool }' is not available at present
say-too-deep = calls are nested too deep
say-too-many-calls = one message may make at most { $most } calls
say-too-many-steps = it took more steps than one message may take
say-ours = something broke on our side; other calls were not affected
say-unknown-outcome = it is not known whether '{ $tool }' took effect: it was under way when we were interrupted
say-effect-possible = { $said }; it may have taken effect
say-effect-none = { $said }; nothing was sent
say-busy = '{ $tool }' is busy: too many calls wait for it already; this one was not started
say-no-place = '{ $tool }' had no free place within { $wait }; it was not started
say-no-place-turn = '{ $tool }' had no free place before the time for this request ran out; it was not started
say-stopped-before = '{ $tool }' was stopped before it started
say-stopped-while = '{ $tool }' was stopped while it ran
say-stopped = '{ $tool }' was stopped
say-sleep-stopped = the sleep was stopped
say-late = '{ $tool }' did not answer within { $wait }
say-late-turn = '{ $tool }' did not answer before the time for this request ran out
say-no-answer = '{ $tool }' did not answer in time
say-turn-over = the time for this message is over
say-you-stopped = stopped, as you asked
say-parent-ended = the call that made it ended first
say-earlier-failed = an earlier call failed
say-never-started = stopped before it started
say-interrupted = we were interrupted
say-not-declared = '{ $tool }' answered something else than it declares
say-unreadable = '{ $tool }' answered something that is not readable
say-refused = '{ $tool }' refused the request: { $why } ({ $status })
say-rate = '{ $tool }' is asked too often
say-rate-wait = '{ $tool }' is asked too often; it can be asked again in { $wait }
say-redirect = '{ $tool }' answered with a redirect, which is not followed ({ $status })
say-away = '{ $tool }' is not available at the moment ({ $status })
say-away-wait = '{ $tool }' is not available at the moment ({ $status }); try again in { $wait }
say-failed = '{ $tool }' failed on its own side ({ $status })
say-not-understood = '{ $tool }' answered in a way that is not understood ({ $status })
say-no-text = '{ $tool }' answered with a file or an image, not with text
say-too-long = '{ $tool }' answered more than { $size } MiB
say-unreachable = '{ $tool }' could not be reached
say-broke = the connection to '{ $tool }' broke before its answer was complete
say-step = '{ $tool }': { $said }
say-step-lost = '{ $tool }' did not hear of all its steps
say-unfilled = '{ $tool }' could not put together { $what }
say-step-items = '{ $tool }' has { $count } items for its step '{ $step }': { $most } are the most
say-nothing-to-send = there is nothing to send, or too much
say-no-conversation = that is not a conversation
say-no-way-there = that conversation does not exist, or you cannot write there
say-way-unknown = the platform did not say whether you may write there
say-not-stored = the message could not be stored, so it was not sent
say-file-gone = the file cannot be fetched from the chat any more
say-not-journaled = it was not started: we could not write down that it starts
say-not-reset = the conversation could not be reset just now
say-which = say which request: { $command } REFERENCE
say-no-request = there is no request '{ $reference }' that you can look at
say-not-taken = too many messages wait here already; this one was not taken
say-not-taken-many = too many messages wait here already; the last { $count } were not taken
say-no-messages = I cannot take messages at present
say-not-shown = there is an answer, but it cannot be shown here
say-rest-not-shown = the answer goes on, but its rest cannot be shown here

## Why a service refused
why-values = it does not accept these values
why-credentials = it does not accept the gateway's credentials
why-forbidden = the gateway may not do that there
why-nothing = there is no such thing
why-again = it asks to try again
why-conflict = it contradicts what is there now
why-large = it is too large
why-no = it says no

## What is spoken of
what-step = its step '{ $step }'
what-result = its result
what-default = a default
what-null = null
what-boolean = true or false
what-number = a number
what-string = a text
what-array = a list
what-object = an object

## How long
wait-ms = { $n } ms
wait-s = { $n } s
wait-min = { $n } min
wait-h = { $n } h

## When
time-unknown = an unknown time

## What to do next
hint-correct = correct it and send it again
hint-moment = try again in a moment
hint-moment-tell = try again in a moment; if it goes on, tell an operator the reference
hint-later = try again a little later
hint-later-short = try again later
hint-check-asked = check what you asked for; an operator can look at the reference
hint-check-first = check before you ask for it again
hint-again = ask again when you like
hint-nothing-lost = wait a moment: nothing that you sent is lost
hint-not-lost = wait a moment: what you sent is not lost
hint-less = ask for less at once
hint-tools = send { $command } to see what can be used here
hint-operator = an operator can say more
hint-tell = if it goes on, tell an operator the reference
hint-mean = did you mean { $names }?
hint-ask-operator = ask an operator
hint-operator-looks = an operator has to look at this
hint-no-files = such answers cannot be shown yet; an operator can look at the reference
hint-find = an operator can find it by the reference
hint-wait = wait for the answers, then send it again
hint-reference = a reference stands at the end of each answer
hint-wait-send = wait a moment, then send it again
hint-string = send it as a string
hint-flat = send a flatter structure
hint-full = send them again in full
hint-quotes = check quotes, commas and brackets
hint-braces = write the arguments as {"{"}"name": value{"}"}
hint-send-less = send less at once

## What was expected of an argument
expected-string = string
expected-integer = integer
expected-number = number
expected-boolean = boolean
expected-array = array
expected-object = object
expected-null = null
expected-value = a value
expected-or = { $expected } or { $other }
expected-one-of = one of { $values }
expected-exactly = exactly { $value }
expected-least = at least { $n }
expected-most = at most { $n }
expected-more = more than { $n }
expected-less = less than { $n }
expected-multiple = a multiple of { $n }
expected-least-character = at least { $n } character
expected-least-characters = at least { $n } characters
expected-most-character = at most { $n } character
expected-most-characters = at most { $n } characters
expected-least-item = at least { $n } item
expected-least-items = at least { $n } items
expected-most-item = at most { $n } item
expected-most-items = at most { $n } items
expected-least-field = at least { $n } field
expected-least-fields = at least { $n } fields
expected-most-field = at most { $n } field
expected-most-fields = at most { $n } fields
expected-levels = at most { $n } levels of nesting
expected-unique = no item twice
expected-contains = a list with at least one item of the declared form
expected-pattern = text of the form { $pattern }
expected-encoded = text encoded as { $encoding }
expected-holds = text that holds { $type }
expected-format = text of the format '{ $format }'
expected-nothing = nothing here
expected-one-form = exactly one of the allowed forms; this fits several
expected-excluded = something else: this form is excluded
expected-no-items = no further items
expected-a-form = one of the allowed forms
expected-field = a field '{ $name }'
expected-no-fields = no further fields
expected-no-field = no such field
expected-names = field names that are { $expected }
expected-other-names = other field names
expected-utf8 = text in UTF-8
expected-checkable = a value that can be checked
expected-date = a date like 2026-01-31
expected-date-time = a time like 2026-01-31T09:30:00Z
expected-time = a time of day like 09:30:00Z
expected-duration = a duration like PT1H30M
expected-email = an e-mail address
expected-uri = a full address like { $example }
expected-uuid = a UUID like 123e4567-e89b-12d3-a456-426614174000
expected-address = an address like { $example }
expected-range = an integer from { $least } to { $most }
expected-text-range = text of { $least } to { $most } characters
expected-conversation = a conversation like telegram:main/-100123, or its id on this platform
expected-once = the argument once
expected-only = a word that can only belong to '{ $name }'
expected-pairs = arguments as key=value here
expected-plain-name = a plain name or number
expected-text-or-number = a text or a number
expected-plain = plain values: lists of objects do not fit an address

## How an argument is written
advice-mean = did you mean '{ $name }'?
advice-known = known: { $names }
advice-example = for example { $value }
advice-unquoted = write { $value } without quotes
advice-quotes = put it in quotes
advice-integer = a whole number in digits, like 3
advice-number = a number with a point, like 2.5
advice-boolean = true or false
advice-list = not readable as a JSON list: check its brackets and commas
advice-object = not readable as a JSON object: check its braces and quotes
advice-digits = too many digits to be kept exactly
advice-string = send it as a string
advice-flat = send a flatter structure
advice-form = for the form { $form }; other forms: { $forms }
advice-and = { $advice }; { $note }
advice-name-it = write { $assignment }, or put the whole text in quotes

## Progress
progress-step = step { $n } of { $count }: { $tools }

## Said to the sender alone, at once
signal-stopping = stopping
signal-stopping-it = stopping it
signal-ended = it has ended already
signal-not-yours-to-stop = only the one who asked can stop it
signal-not-yours-to-repeat = only the one who asked can have it tried again
signal-too-long-ago = it is too long ago to be tried again; please send it anew
signal-not-repeatable = it cannot be tried again; please send it anew
signal-old-button = this button is not in use any more
signal-too-many = too many messages; try again in { $wait }
signal-code = I answer only people whom my operator has let in. Give the operator this code: { $code } (it holds for 1 hour)
signal-let-in = The operator has let you in: I answer you from now on.
