# /sessions, /resume
builtin-sessions = your earlier conversations here
builtin-resume = go back to an earlier conversation: /resume NUMBER
session-listed = Your conversations here, the newest first:
session-line = { $title } — { $when }, { $turns ->
    [one] 1 message
   *[other] { $turns } messages
}
session-current = **(this one)**
session-untitled = (nothing said yet)
session-none = There is no conversation of yours here yet.
session-how = `/resume NUMBER` goes back to one, /new begins another.
session-resumed = Back in “{ $title }”. What was said in it is used again.
session-unknown = There is no such conversation of yours here. Send /sessions to see those that there are.

# /tools only, /tools all
mount-only = These alone are used in this conversation until you send `/tools all`:
mount-all = All tools that you may use here are used in this conversation again.
mount-what = Say which tools or toolsets are to be used: `/tools only NAME NAME`.
mount-unknown = No tool or toolset here is called { $names }. Nothing was changed.

# /keep, /forget
builtin-keep = keep something about you in mind: /keep TEXT; alone, what is kept
builtin-forget = forget something that was kept: /forget NUMBER
kept-as = Kept, as number { $n }.
kept-full = { $most } things are kept already, which is the most. `/forget NUMBER` makes room.
kept-long = That is too long to be kept: { $most } characters are the most.
kept-list = What I keep of you here; `/forget NUMBER` takes one out:
kept-nothing = Nothing is kept of you here. `/keep TEXT` keeps something.
kept-forgotten = Number { $n } is forgotten.
kept-unknown = There is no such number. Send /keep to see what is kept.
