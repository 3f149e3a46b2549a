# 出错时说的句子。原文是英文，按英文目录认出后用这里的句子说；认不出的是工具作者自己的话，照原样显示。
# 键与英文目录一一对应。

## 出了什么问题
say-args-one = “{ $tool }”无法用这些参数运行：有一处不对
say-args-some = “{ $tool }”无法用这些参数运行：有 { $count } 处不对
say-args-many = “{ $tool }”无法用这些参数运行：至少有 { $count } 处不对
say-args-long = 参数超过了 { $size } KiB
say-args-kind = 参数应该是一个对象，收到的却是{ $what }
say-args-digits = 参数里有一个数字位数太多，无法精确保存
say-args-deep = 参数的嵌套超过了 { $levels } 层
say-args-cut = 参数没有写完
say-args-json = 参数不是有效的 JSON：第 { $column } 个字符处有误
say-args-json-line = 参数不是有效的 JSON：第 { $line } 行第 { $column } 个字符处有误
say-values-refused = 不能用这些值调用“{ $tool }”
say-not-here = 这里不能使用“{ $tool }”
say-removed = “{ $tool }”刚刚被移除了
say-needs-approval = “{ $tool }”需要审批，但这里没有人可以批准
say-not-at-present = “{ $tool }”目前不可用
say-too-deep = 调用嵌套得太深了
say-too-many-calls = 一条消息最多只能发起 { $most } 次调用
say-too-many-steps = 步骤太多，超过了一条消息允许的上限
say-ours = 我们这边出了故障；其他调用没有受到影响
say-unknown-outcome = 无法确定“{ $tool }”是否已经生效：它运行到一半时我们被中断了
say-effect-possible = { $said }；操作可能已经生效
say-effect-none = { $said }；没有发出任何请求
say-busy = “{ $tool }”正忙：等待它的调用已经太多，这一次没有开始
say-no-place = “{ $tool }”在 { $wait }内没有空位，因此没有开始
say-no-place-turn = 直到这次请求的时间用完，“{ $tool }”都没有空位，因此没有开始
say-stopped-before = “{ $tool }”在开始之前就被停止了
say-stopped-while = “{ $tool }”在运行途中被停止了
say-stopped = “{ $tool }”被停止了
say-sleep-stopped = 等待被中止了
say-late = “{ $tool }”在 { $wait }内没有回应
say-late-turn = 直到这次请求的时间用完，“{ $tool }”都没有回应
say-no-answer = “{ $tool }”没有及时回应
say-turn-over = 处理这条消息的时间已经用完
say-you-stopped = 已按您的要求停止
say-parent-ended = 发起它的调用先结束了
say-earlier-failed = 前面的一次调用失败了
say-never-started = 在开始之前就被停止了
say-interrupted = 我们被中断了
say-not-declared = “{ $tool }”返回的内容与它声明的不符
say-unreadable = “{ $tool }”返回的内容无法读取
say-refused = “{ $tool }”拒绝了请求：{ $why }（{ $status }）
say-rate = 对“{ $tool }”的请求太频繁了
say-rate-wait = 对“{ $tool }”的请求太频繁了；{ $wait }后可以再试
say-redirect = “{ $tool }”返回了重定向，而重定向不会被跟随（{ $status }）
say-away = “{ $tool }”暂时不可用（{ $status }）
say-away-wait = “{ $tool }”暂时不可用（{ $status }）；请在 { $wait }后再试
say-failed = “{ $tool }”自身出错了（{ $status }）
say-not-understood = “{ $tool }”的回应无法理解（{ $status }）
say-no-text = “{ $tool }”返回的是文件或图片，而不是文字
say-too-long = “{ $tool }”返回的内容超过了 { $size } MiB
say-unreachable = 无法连接到“{ $tool }”
say-broke = 与“{ $tool }”的连接中断了，回应没有收全
say-step = “{ $tool }”：{ $said }
say-step-lost = “{ $tool }”没有收到全部步骤的结果
say-unfilled = “{ $tool }”无法生成{ $what }
say-step-items = “{ $tool }”的步骤“{ $step }”有 { $count } 项：最多只能有 { $most } 项
say-nothing-to-send = 要发送的内容是空的，或者太长
say-no-conversation = 这不是一个会话
say-no-way-there = 这个会话不存在，或者您不能在那里发言
say-way-unknown = 平台没有说明您能否在那里发言
say-not-stored = 消息无法保存，因此没有发送
say-file-gone = 已经无法从聊天中取得这个文件
say-not-journaled = 没有开始：我们无法记录它的开始
say-not-reset = 现在无法重置会话
say-which = 请说明是哪一次请求：{ $command } 请求编号
say-no-request = 没有您可以查看的请求“{ $reference }”
say-not-taken = 这里等待的消息已经太多；这一条没有受理
say-not-taken-many = 这里等待的消息已经太多；最近的 { $count } 条没有受理
say-no-messages = 我现在无法接收消息
say-not-shown = 答复已经有了，但无法在这里显示
say-rest-not-shown = 答复还没有完，但其余部分无法在这里显示

## 服务为什么拒绝
why-values = 它不接受这些值
why-credentials = 它不接受网关的凭据
why-forbidden = 网关无权在那里这样做
why-nothing = 没有这样的对象
why-again = 它要求稍后再试
why-conflict = 与现有的状态冲突
why-large = 内容太大
why-no = 它不同意

## 所说的东西
what-step = 步骤“{ $step }”的输入
what-result = 结果
what-default = 默认值
what-null = 空值 null
what-boolean = 布尔值
what-number = 数字
what-string = 文本
what-array = 列表
what-object = 对象

## 多长时间
wait-ms = { $n } 毫秒
wait-s = { $n } 秒
wait-min = { $n } 分钟
wait-h = { $n } 小时

## 什么时候
time-unknown = 未知的时间

## 接下来怎么办
hint-correct = 请改正后重新发送
hint-moment = 请稍后再试
hint-moment-tell = 请稍后再试；如果一直这样，请把请求编号告诉管理员
hint-later = 请过一会儿再试
hint-later-short = 请以后再试
hint-check-asked = 请检查您的请求；管理员可以按请求编号查看详情
hint-check-first = 再次请求之前，请先确认一下
hint-again = 随时可以再次请求
hint-nothing-lost = 请稍等：您发送的内容不会丢失
hint-not-lost = 请稍等：您发送的内容没有丢失
hint-less = 请一次少要一些
hint-tools = 发送 { $command } 可以查看这里能用的工具
hint-operator = 管理员可以告诉您更多
hint-tell = 如果一直这样，请把请求编号告诉管理员
hint-mean = 您是不是想用 { $names }？
hint-ask-operator = 请询问管理员
hint-operator-looks = 这需要管理员来处理
hint-no-files = 这样的内容还不能显示；管理员可以按请求编号查看
hint-find = 管理员可以按请求编号找到它
hint-wait = 请等前面的答复到了再重新发送
hint-reference = 请求编号在每条答复的末尾
hint-wait-send = 请稍等片刻，然后重新发送
hint-string = 请以文本形式发送
hint-flat = 请减少嵌套
hint-full = 请完整地重新发送
hint-quotes = 请检查引号、逗号和括号
hint-braces = 请把参数写成 {"{"}"名称": 值{"}"}
hint-send-less = 请一次少发一些

## 参数应当是什么
expected-string = 文本
expected-integer = 整数
expected-number = 数字
expected-boolean = 布尔值
expected-array = 列表
expected-object = 对象
expected-null = 空值 null
expected-value = 一个值
expected-or = { $expected }或{ $other }
expected-one-of = 以下之一：{ $values }
expected-exactly = 固定的值 { $value }
expected-least = 不小于 { $n } 的数
expected-most = 不大于 { $n } 的数
expected-more = 大于 { $n } 的数
expected-less = 小于 { $n } 的数
expected-multiple = { $n } 的倍数
expected-least-character = 至少 { $n } 个字符的文本
expected-least-characters = 至少 { $n } 个字符的文本
expected-most-character = 至多 { $n } 个字符的文本
expected-most-characters = 至多 { $n } 个字符的文本
expected-least-item = 至少 { $n } 项的列表
expected-least-items = 至少 { $n } 项的列表
expected-most-item = 至多 { $n } 项的列表
expected-most-items = 至多 { $n } 项的列表
expected-least-field = 至少 { $n } 个字段的对象
expected-least-fields = 至少 { $n } 个字段的对象
expected-most-field = 至多 { $n } 个字段的对象
expected-most-fields = 至多 { $n } 个字段的对象
expected-levels = 至多 { $n } 层嵌套
expected-unique = 互不重复的各项
expected-contains = 至少有一项符合声明形式的列表
expected-pattern = 形如 { $pattern } 的文本
expected-encoded = 以 { $encoding } 编码的文本
expected-holds = 内容为 { $type } 的文本
expected-format = “{ $format }”格式的文本
expected-nothing = 空（不填任何内容）
expected-one-form = 只符合一种允许形式的值（目前符合多种）
expected-excluded = 其他形式（这种形式不被允许）
expected-no-items = 没有更多项的列表
expected-a-form = 允许的形式之一
expected-field = 含有字段“{ $name }”的对象
expected-no-fields = 没有更多字段的对象
expected-no-field = 空（没有这个字段）
expected-names = 名为{ $expected }的字段
expected-other-names = 其他字段名
expected-utf8 = UTF-8 文本
expected-checkable = 可以检查的值
expected-date = 形如 2026-01-31 的日期
expected-date-time = 形如 2026-01-31T09:30:00Z 的时间
expected-time = 形如 09:30:00Z 的时刻
expected-duration = 形如 PT1H30M 的时长
expected-email = 电子邮件地址
expected-uri = 形如 { $example } 的完整网址
expected-uuid = 形如 123e4567-e89b-12d3-a456-426614174000 的 UUID
expected-address = 形如 { $example } 的地址
expected-range = { $least } 到 { $most } 之间的整数
expected-text-range = { $least } 到 { $most } 个字符的文本
expected-conversation = 形如 telegram:main/-100123 的会话，或它在本平台上的编号
expected-once = 只出现一次的参数
expected-only = 只可能属于“{ $name }”的词
expected-pairs = 键=值 的写法
expected-plain-name = 普通的名称或数字
expected-text-or-number = 文本或数字
expected-plain = 简单的值（由对象组成的列表放不进地址）

## 参数怎么写
advice-mean = 您是不是想写“{ $name }”？
advice-known = 可用的有：{ $names }
advice-example = 例如 { $value }
advice-unquoted = 请写 { $value }，不要加引号
advice-quotes = 请加上引号
advice-integer = 请用数字写出整数，例如 3
advice-number = 请用小数点，例如 2.5
advice-boolean = 请写 true 或 false
advice-list = 不是有效的 JSON 列表：请检查方括号和逗号
advice-object = 不是有效的 JSON 对象：请检查花括号和引号
advice-digits = 位数太多，无法精确保存
advice-string = 请以文本形式发送
advice-flat = 请减少嵌套
advice-form = 按形式 { $form }；其他形式：{ $forms }
advice-and = { $advice }；{ $note }
advice-name-it = 请写成 { $assignment }，或者把整段文字放进引号

## 进度
progress-step = 第 { $n } 步，共 { $count } 步：{ $tools }

## 当场只告诉发送者的话
signal-stopping = 正在停止
signal-stopping-it = 正在停止这个请求
signal-ended = 这个请求已经结束了
signal-not-yours-to-stop = 只有提出请求的人可以停止这个请求
signal-not-yours-to-repeat = 只有提出请求的人可以重试
signal-too-long-ago = 时间太久，已经无法重试；请重新发送
signal-not-repeatable = 这个请求无法重试；请重新发送
signal-old-button = 这个按钮已经失效
signal-too-many = 消息太多；请在 { $wait }后再试
signal-code = 我只回答管理员允许的人。请把这个代码交给管理员：{ $code }（1 小时内有效）
signal-let-in = 管理员已经允许您使用：从现在起我会回答您。
