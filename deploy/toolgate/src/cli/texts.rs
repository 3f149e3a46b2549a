//! What stands below the options in the help of each command: examples first.

pub const TOP: &str = "\
Examples:
  toolgate demo                                  try everything in a page, nothing to set up
  toolgate check                                 is my configuration right?
  toolgate up                                    run it
  toolgate policy explain --platform telegram --tool order_refund
  toolgate trace show 01KBA7Q3ZJ8M4W0N5RX2VCT007  what did that message cause?

Exit codes: 0 done, 1 failed, 2 wrong command line, 75 start me again, 78 bad configuration.
Any key of the configuration can be replaced by a variable:
  TOOLGATE__STORE=redis://127.0.0.1:6379/0";

pub const DEMO: &str = "\
Examples:
  toolgate demo
  toolgate demo --listen 127.0.0.1:0 --no-open --json   one line with all addresses when ready
  toolgate demo --store redis://127.0.0.1:6379/0        look at the records with redis-cli

The page shows Telegram, Discord and Slack, each over its real protocol, and each call as it
happens.
Everything stays on this machine and is gone when the demo ends, unless --store names a place.
Ctrl+C ends it.";

pub const UP: &str = "\
Examples:
  toolgate up
  toolgate --config /etc/toolgate/toolgate.yaml up
  TOOLGATE__STORE=redis://127.0.0.1:6379/0 toolgate up
  toolgate up --json                  one line with its address and store when ready

Connect a bot with three lines in toolgate.yaml, here for Telegram:
  platforms:
    telegram: { token: env:TELEGRAM_TOKEN }
  policies: platform-policies/
Discord needs { token }, Slack { bot_token, app_token }.

Tools and policies are read again when their files change; a bad file keeps the last good one and
says so.
Ctrl+C or SIGTERM lets running turns end (60 s); what is not done is taken up at the next start.";

pub const CHECK: &str = "\
Prints what is wrong with file, line and column, and what was probably meant:
  toolgate.yaml:4:3: unknown key 'lisen': did you mean 'listen'?

It warns of tools that no policy offers anywhere.
Chat platforms are asked what the set-up there lacks (a scope, an intent, privacy mode), each with
the step that mends it; --offline leaves that out, and reads no secret.
Exit 0 when it can be started (warnings allowed), 78 when not.";

pub const CHAT: &str = "\
Examples:
  toolgate chat
  /order_refund A-17 5             positional, in the order of the required arguments
  /weather_query Oslo days=3       others by name
  /order_query order_id=A-17 status=paid
  /sleep {\"ms\": 50}                JSON works too

Several commands on lines of their own run at once (end a line with \\ to go on).
With --json each answer is a JSON object on a line of its own: reference, text, failed.
Ctrl+C stops what runs, twice leaves; /tools lists what can be used.";

pub const SIM: &str = "\
Examples:
  toolgate sim
  curl 127.0.0.1:8081/telegram/bot1:demo/getMe
  curl 127.0.0.1:8081/control/telegram/say \\
    -d '{\"conversation\":\"dm:you\",\"user\":\"you\",\"text\":\"hello\"}'
  curl '127.0.0.1:8081/control/telegram/transcript?conversation=dm:you'

Point any bot at it; limits are those of the real platforms. Its API addresses:
  Discord   http://127.0.0.1:8081/discord/api/v10
  Telegram  http://127.0.0.1:8081/telegram
  Slack     http://127.0.0.1:8081/slack/api";

pub const TOOL_VALIDATE: &str = "\
Examples:
  toolgate tool validate --spec tools/weather.yaml
  toolgate tool validate --spec tools/

Warnings tell what will hurt later: no `returns`, a POST with retries that is not idempotent,
no concurrency_limit.";

pub const TOOL_ADD: &str = "\
Examples:
  toolgate tool add --spec weather.yaml
  toolgate tool add --spec weather.yaml --publish
  toolgate tool add --spec -                          the spec comes from standard input

The spec is checked as `validate` does; 78 when it is wrong. What is offered stays until the new
version is published. A tool that a file in `tools` has is changed there. The running gateway is
asked, or the store changed when none answers; the author is who is logged in here.";

pub const TOOL_PUBLISH: &str = "\
Examples:
  toolgate tool publish --name weather_query
  toolgate tool publish --name report --description \"Makes the monthly report; takes a minute\"

A model chooses a tool by its description, so there has to be one.";

pub const TOOL_DEPRECATE: &str = "\
Example:
  toolgate tool deprecate --name weather_query --message \"use forecast\"

Its description says so, to people and to models. `publish` takes it back.";

pub const TOOL_REMOVE: &str = "\
Example:
  toolgate tool remove --name weather_query

Calls of it are refused from now on, in turns that run too. Its history stays: `rollback` brings it
back. The tool of a file is switched off; `publish` switches it on.";

pub const TOOL_ROLLBACK: &str = "\
Examples:
  toolgate tool rollback --name weather_query
  toolgate tool rollback --name weather_query --to 4";

pub const TOOL_HISTORY: &str = "\
Examples:
  toolgate tool history --name weather_query
  toolgate tool history --name weather_query --text 4       the spec as it was then";

pub const TOOL_LIST: &str = "\
Examples:
  toolgate tool list
  toolgate tool list --all                              with states, whoever may use them
  toolgate tool list --platform telegram --conversation -1001234567890 --sender 123456789
  toolgate tool list --token env:CLIENT_TOKEN           what a client of the API sees

It tells who answered: a running gateway, or the files.";

pub const TOOL_SHOW: &str = "\
Example:
  toolgate tool show --name weather_query";

pub const TOOL_INVOKE: &str = "\
Examples:
  toolgate tool invoke --name weather_query --params '{\"city\":\"上海\"}'
  toolgate tool invoke --name order_query --params '{\"order_id\":\"A-17\"}' \\
    --platform telegram --sender 123456789

A running gateway is asked, so that its limits count; alone only when none answers. Without
--platform it acts as an operator on `console`.";

pub const TOOL_IMPORT_MCP: &str = "\
Examples:
  toolgate tool import-mcp --server files                read them in tools/mcp-files.yaml, then:
  toolgate tool import-mcp --server files --reviewed
  toolgate tool import-mcp --server files --watch

What you change in the file stays when the tools are imported again; everything else follows the
server. What nobody has read, and what the server gave another meaning since, says `publish: manual`
and is not offered: remove that line, or say --reviewed. With --watch --reviewed whatever the server
changes is offered at once. Exit 0 when imported, 1 when the server cannot be asked.";

pub const POLICY_SHOW: &str = "\
Examples:
  toolgate policy show --platform telegram
  toolgate --config toolgate.yaml policy show      of these files, whatever runs

The last line says whether a running gateway answered or the files.";

pub const POLICY_EXPLAIN: &str = "\
Examples:
  toolgate policy explain --platform telegram --tool order_refund
  toolgate policy explain --platform telegram --tool order_refund \\
    --conversation -1001234567890 --sender 123456789

Exit 0 whether the call is allowed or refused: --json says it as `allowed`.";

pub const APPROVALS_LIST: &str = "\
Example:
  toolgate approvals list

A running gateway is needed: its turns wait for the answers.";

pub const APPROVALS_APPROVE: &str = "\
Examples:
  toolgate approvals approve 1v5zk3m9q2d8h7c
  toolgate approvals approve 1v5zk3m9q2d8h7c --session

An operator's yes counts as one person's. Look at `toolgate approvals show ID` before.";

pub const APPROVALS_DENY: &str = "\
Example:
  toolgate approvals deny 1v5zk3m9q2d8h7c --why \"ask again on Monday\"";

pub const SCHEDULE_ADD: &str = "\
Examples:
  toolgate schedule add --say \"/daily_digest Berlin\" --when \"every weekday at 8:00\" \\
    --zone Europe/Berlin --platform telegram --sender 123456789 --conversation 123456789 --direct \\
    --to slack:main/C0123456789
  toolgate schedule add --say \"which orders wait to be sent?\" --when \"0 17 * * 1-5\" \\
    --platform slack --space T0123456789 --conversation C0123456789 --sender U0123456789

It is run with the rights that the owner has in their own place, and only as far as the place that
the answers go to allows the same. Without --platform the owner is an operator on `console`.";

pub const SCHEDULE_LIST: &str = "\
Examples:
  toolgate schedule list
  toolgate trace list --schedule                 the turns that they made

A running gateway is needed.";

pub const SCHEDULE_PAUSE: &str = "\
Example:
  toolgate schedule pause 1v5zk3m9 --why \"over the holidays\"";

pub const SCHEDULE_RUN: &str = "\
Examples:
  toolgate schedule run 1v5zk3m9
  toolgate trace stats --schedule 1v5zk3m9       what its tools took, and how often they failed";

pub const PAIRING_LIST: &str = "\
Example:
  toolgate pairing list

A running gateway is needed: it alone knows who asks.";

pub const PAIRING_APPROVE: &str = "\
Example:
  toolgate pairing approve K7QM2XWZ

The person sees the code when they write where policy says `gating: { direct: pairing }`. Be sure
that it is theirs: ask them for it, and look at the name and id in `toolgate pairing list`.";

pub const PAIRING_REMOVE: &str = "\
Example:
  toolgate pairing remove telegram:main/123456789";

pub const SESSION_LIST: &str = "\
Examples:
  toolgate session list --platform telegram
  toolgate session show 01KBA7Q3ZJ8M4W0N5RX2VCT007
  toolgate session show telegram/=main/-/=4711/-

The running gateway is asked, or the store when none answers.";

pub const SESSION_FORGET: &str = "\
Example:
  toolgate session forget --platform telegram --account main --sender 123456789

Sessions, facts, records and call trees of that person are erased, in all conversations of the
account. What others said in shared sessions stays.";

pub const TRACE_LIST: &str = "\
Examples:
  toolgate trace list --failed --since 24h
  toolgate trace list --tool order_query --limit 50
  toolgate trace list --schedule 1v5zk3m9
  toolgate trace list --failed --schedule          of all schedules";

pub const TRACE_STATS: &str = "\
Examples:
  toolgate trace stats --since 7d
  toolgate trace stats --by tenant                 tool, platform, tenant or code
  toolgate trace stats --unusual                   what stands out
  toolgate trace stats --schedule 1v5zk3m9
  toolgate trace stats --schedule                  in the turns of all schedules

Of schedules it is told from the call trees of the newest 1,000 turns, the slowest tool first, with
the turn of its slowest call.";

pub const TRACE_AUDIT: &str = "\
Examples:
  toolgate trace audit --tool orders_cancel --since 7d
  toolgate trace audit --turn 01KBA7Q3ZJ8M4W0N5RX2VCT007 --json

Of the store. How long events are kept, and where else they go, says `audit` in the configuration.";

pub const TRACE_TAIL: &str = "\
Examples:
  toolgate trace tail
  toolgate trace tail --failed --json       a JSON object per line

A running gateway is needed: nothing ends in a store at rest.";

pub const TRACE_SHOW: &str = "\
Example:
  toolgate trace show 01KBA7Q3ZJ8M4W0N5RX2VCT007

  ✗ turn                         +0 µs      2.31 s  execution · step.failed  /research atlantis
  └─ ✗ research 1.1            +1.0 ms      2.30 s  execution · step.failed
     ├─ ✓ search_web 1.1.1     +2.2 ms       41 ms  ok
     └─ ✗ read_page 1.1.2       +46 ms      2.00 s  execution · timeout";

pub const COMPLETIONS: &str = "\
Examples:
  toolgate completions bash > ~/.local/share/bash-completion/completions/toolgate
  toolgate completions fish > ~/.config/fish/completions/toolgate.fish";

pub const CHECKPOINT_RESTORE: &str = "\
Examples:
  toolgate checkpoint list --folder /srv/reports
  toolgate checkpoint show 1f2e3d4c-1796083200000     what differs now
  toolgate checkpoint restore 1f2e3d4c-1796083200000

Files that came later are removed; the checkpoint that is taken of the present first has them.";
