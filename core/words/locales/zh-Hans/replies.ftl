# 按钮
button-cancel = 取消
button-stop-call = 停止 { $tool }
button-again = 重试
button-details = 详情
button-allow = 允许一次
button-allow-session = 本会话允许
button-deny = 拒绝
button-deny-why = 拒绝并说明理由
button-send = 提交
choice-yes = 是
choice-no = 否

# 答复前后的话
reply-repeated = （您可能已经收到过这条消息）
reply-nothing = （没有输出）
reply-file = 答复太长，{ $messages } 条消息放不下：其余部分在文件里。
reply-cut = …（在此截断：共 { $count } 个字符）
reply-same = 另外 { $count } 条命令也是如此。
reply-reference = 请求编号
reply-named-file = [文件 { $name }]
reply-model-cut = …（回答在此中断）
reply-model-tried = 为此做过的事：
reply-working = 正在处理…
reply-not-here = 我在这里不可用

# 随消息发来的文件
file-unused = 文件“{ $name }”没有使用：这个命令不需要文件。
files-unused = 这 { $count } 个文件没有使用：这个命令不需要文件。
file-thanks = 谢谢，但只有文件我无法处理：请在文件旁写上需要它的命令。

# 进度
progress-counted = 正在处理：已完成 { $done }/{ $count }
progress-timed = 正在处理（{ $seconds } 秒）
progress-more = 还有 { $count } 个
waits-behind = 您的消息正在排队，前面还有 { $count } 条。

# 没有模型规划时的自由文本
free-nothing = 我在这里执行命令。发送 /help 可以查看能做什么。
free-near = 我在这里执行命令。您要找的也许是下面这些：
free-all = 发送 /tools 可以查看全部工具。

# /start、/help、/tools
start-hello = 您好。我替您运行工具，并告诉您结果如何。
help-write = 请写命令：`/名称 值` 或 `/名称 键=值`。几条命令各占一行时会同时运行。
help-more = 还有 { $count } 个：/tools
help-own = 关于我自己：
tools-none = 这里目前没有可用的工具。
tools-no-match = 这里没有与“`{ $word }`”有关的工具。发送 /tools 可以查看全部。
builtin-help = 这里能做什么
builtin-tools = 您在这里能用的工具；/tools 关键词 可以缩小范围
builtin-trace = 某次请求的经过：/trace 请求编号
builtin-stop = 停止正在为您运行的操作
builtin-new = 开始新的会话；/resume 可以回到之前的会话
builtin-status = 正在运行什么，网关的状态如何
builtin-start = 开场白

# /stop、/new、/status、/trace
stop-nothing = 这里没有正在为您运行的操作。
new-begun = 已开始新的会话。之前说过的内容不再使用；/sessions 说明如何回到之前的会话。
status-nothing = 这个会话里没有正在运行的请求。
status-running = 这个会话里正在运行：
status-line = { $asked }（{ $seconds } 秒，`{ $reference }`）
status-waiting = 后面还有 { $count } 条消息在等待。
status-well = 网关状态良好。
status-troubled = 网关有 { $count } 个部分需要处理；管理员可以看到是哪些。
trace-unreadable = 现在无法读取调用树；请稍后再试。
