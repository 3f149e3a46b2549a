-- Changes a turn: everything or, when the fence is old or the turn is gone, nothing.
-- KEYS: lease, turn, lane, lanes, due
-- ARGV: fence, id, lane's hash, seconds to keep what is done, limits of sessions, what keys of the partition begin with,
-- then steps
if redis.call('HGET', KEYS[1], 'fence') ~= ARGV[1] then return 0 end
local state = tonumber(redis.call('HGET', KEYS[2], 's') or '-1')
if state < 0 then return 0 end
local id = ARGV[2]
local at = 6
local function arg()
  at = at + 1
  return ARGV[at]
end
local function become(number)
  state = number
  redis.call('HSET', KEYS[2], 's', number)
end
local function leave_lane()
  redis.call('LREM', KEYS[3], 0, id)
  if redis.call('EXISTS', KEYS[3]) == 0 then redis.call('ZREM', KEYS[4], ARGV[3]) end
end
-- Approvals by which calls start come first: unless all are allowed, or used by the same calls before, nothing is made.
local used = {}
while ARGV[at + 1] == 'use' do
  arg()
  local approval = arg()
  local is = redis.call('HGET', approval, 's')
  if is ~= '1' and is ~= '5' then return 2 end
  table.insert(used, approval)
end
for _, approval in ipairs(used) do redis.call('HSET', approval, 's', 5) end
local steps = {}
function steps.set() redis.call('HSET', KEYS[2], arg(), arg()) end
function steps.del() redis.call('HDEL', KEYS[2], arg()) end
function steps.life()
  if state >= 4 then return end
  -- Once per fence: a script whose answer was lost is sent again.
  if redis.call('HGET', KEYS[2], 'f') ~= ARGV[1] then
    redis.call('HINCRBY', KEYS[2], 'l', 1)
    redis.call('HSET', KEYS[2], 'f', ARGV[1])
  end
  become(1)
end
function steps.cancel() redis.call('HSET', KEYS[2], 'c', 1) end
function steps.ask()
  local approval, asked, name, until_ms, fixed, detail = arg(), arg(), arg(), arg(), arg(), arg()
  if redis.call('EXISTS', approval) == 1 then return end
  redis.call('HSET', approval, 'a', fixed, 's', 0, 'd', detail)
  redis.call('ZADD', asked, until_ms, name)
end
function steps.park()
  local until_ms = arg()
  if state >= 4 then return end
  leave_lane()
  redis.call('ZADD', KEYS[5], until_ms, id)
  become(2)
end
function steps.unpark()
  if state >= 4 then return end
  redis.call('ZREM', KEYS[5], id)
  redis.call('HDEL', KEYS[2], 'g')
  if not redis.call('LPOS', KEYS[3], id) then redis.call('LPUSH', KEYS[3], id) end
  redis.call('ZADD', KEYS[4], 'NX', redis.call('TIME')[1], ARGV[3])
  become(0)
end
function steps.merge()
  local into = arg()
  if state >= 4 then return end
  leave_lane()
  redis.call('ZADD', KEYS[5], 0, id)
  redis.call('HSET', KEYS[2], 'g', into)
  become(3)
end
function steps.finish()
  if state >= 5 then return end
  leave_lane()
  local now = redis.call('TIME')
  redis.call('ZADD', KEYS[5], now[1] * 1000, id)
  become(4)
end
function steps.due()
  local due_ms = arg()
  if state == 4 then redis.call('ZADD', KEYS[5], 'XX', due_ms, id) end
end
function steps.remember()
  local place, head, tenant, person, title, item = arg(), arg(), arg(), arg(), arg(), arg()
  remember(ARGV[6], place, id, head, tenant, person, title, item, limits_of(ARGV[5]))
end
function steps.done()
  local message, reply = arg(), arg()
  if state < 5 then
    leave_lane()
    redis.call('ZREM', KEYS[5], id)
    redis.call('EXPIRE', KEYS[2], ARGV[4])
    become(5)
  end
  for _, name in ipairs(redis.call('HKEYS', KEYS[2])) do
    local body = string.find(name, '^[pjer]:') or name == 'w' or (name == 'm' and message == '0')
      or (name == 'y' and reply == '0')
    if body then redis.call('HDEL', KEYS[2], name) end
  end
end
while at < #ARGV do steps[arg()]() end
return 1
