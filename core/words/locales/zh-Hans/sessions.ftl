# /sessions、/resume
builtin-sessions = 您在这里之前的会话
builtin-resume = 回到之前的会话：/resume 序号
session-listed = 您在这里的会话，最近的在前：
session-line = { $title } — { $when }，{ $turns } 条消息
session-current = **（当前）**
session-untitled = （还没有说过什么）
session-none = 您在这里还没有会话。
session-how = `/resume 序号` 可以回到某个会话，/new 开始新的会话。
session-resumed = 已回到“{ $title }”。其中说过的内容重新使用。
session-unknown = 您在这里没有这个会话。发送 /sessions 可以查看有哪些。

# /tools only、/tools all
mount-only = 在您发送 `/tools all` 之前，这个会话只使用下面这些：
mount-all = 这个会话重新使用您在这里能用的全部工具。
mount-what = 请说明使用哪些工具或工具集：`/tools only 名称 名称`。
mount-unknown = 这里没有叫 { $names } 的工具或工具集。没有任何改变。

# /keep、/forget
builtin-keep = 记住关于您的事：/keep 内容；不写内容则列出记住了什么
builtin-forget = 忘记已经记住的事：/forget 序号
kept-as = 已记住，序号 { $n }。
kept-full = 已经记住了 { $most } 件事，不能再多。`/forget 序号` 可以腾出位置。
kept-long = 太长，无法记住：最多 { $most } 个字符。
kept-list = 我在这里记住的关于您的事；`/forget 序号` 可以删去一件：
kept-nothing = 这里没有记住关于您的任何事。`/keep 内容` 可以记住一件。
kept-forgotten = 已忘记第 { $n } 件。
kept-unknown = 没有这个序号。发送 /keep 可以查看记住了什么。
