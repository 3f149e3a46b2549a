# 关于定时任务的话。

schedule-made = 已记下，编号 `{ $id }`（`{ $when }`）。下次运行：{ $next }。
schedule-goes-to = 结果会发到 `{ $place }`。
schedule-to = 发到 `{ $place }`
schedule-in-utc = 时间按 UTC 计算；要用别的时区，请在 `say` 之前写 `zone Asia/Shanghai`。
schedule-listed = 您的定时任务：
schedule-none = 您还没有定时任务。
schedule-how =
    `/schedule add 每个工作日 8:00 zone Asia/Shanghai say 内容` 可新建一个；`say` 之前还可以写 `to 会话`、`name "名称"` 和 `missed skip`。
    `/schedule pause 编号`、`resume 编号`、`remove 编号`、`run 编号` 可更改它。
schedule-next = 下次：{ $next }
schedule-rests = 已暂停
schedule-rests-why = 已暂停：{ $reason }
schedule-over = 已结束
schedule-left-out = 未运行：{ $n } 次
schedule-last = 上次运行：`{ $reference }`
schedule-paused = `{ $id }` 已暂停；用 `/schedule resume { $id }` 可继续。
schedule-resumed = `{ $id }` 已继续。下次运行：{ $next }。
schedule-removed = `{ $id }` 已删除。
schedule-runs = `{ $id }` 现在运行，编号 `{ $reference }`。
schedule-unknown = 您没有编号为 `{ $id }` 的定时任务；`/schedule` 会列出您的任务。
schedule-head = { $who } 的定时任务：{ $title }
schedule-rests-now = 这个定时任务已暂停：它连续多次没有权限运行。用 `/schedule resume { $id }` 可继续。
schedule-day-1 = 周一
schedule-day-2 = 周二
schedule-day-3 = 周三
schedule-day-4 = 周四
schedule-day-5 = 周五
schedule-day-6 = 周六
schedule-day-7 = 周日
builtin-schedule = 到时间自动运行：/schedule add 时间 say 内容；单独使用时列出您的定时任务
