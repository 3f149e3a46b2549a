-- What scripts of sessions share; each of them begins with this. `base` is what the keys of the partition begin with, so
-- that everything of a place is on one slot.
local function millis()
  local time = redis.call('TIME')
  return string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
-- The session that was current when the turn was accepted; of a turn older than all that is known, the oldest.
local function session_of(base, place, turn)
  local id
  for _, line in ipairs(redis.call('LRANGE', base .. 'place:' .. place, 0, -1)) do
    id = string.sub(line, 28)
    if string.sub(line, 1, 26) <= turn then return id end
  end
  return id
end
local function switch(base, place, turn, id, limits)
  local key = base .. 'place:' .. place
  if string.sub(redis.call('LINDEX', key, 0) or '', 1, 26) == turn then redis.call('LPOP', key) end
  redis.call('LPUSH', key, turn .. ' ' .. id)
  redis.call('LTRIM', key, 0, limits.switches - 1)
  redis.call('EXPIRE', key, limits.keep)
end
local function erase(base, place, id)
  redis.call('ZREM', base .. 'sessions', id)
  redis.call('ZREM', base .. 'placed:' .. place, id)
  return redis.call('DEL', base .. 'session:' .. id, base .. 'items:' .. id, base .. 'allowed:' .. id)
end
local function used(base, place, id, now, limits)
  redis.call('ZADD', base .. 'sessions', now, id)
  redis.call('ZADD', base .. 'placed:' .. place, now, id)
  for _, kind in ipairs({'session:', 'items:', 'allowed:'}) do
    redis.call('EXPIRE', base .. kind .. id, limits.keep)
  end
  redis.call('EXPIRE', base .. 'placed:' .. place, limits.keep)
  redis.call('EXPIRE', base .. 'place:' .. place, limits.keep)
  -- Those whose time is over are gone by themselves.
  local over = string.format('%.0f', now - limits.keep * 1000)
  redis.call('ZREMRANGEBYSCORE', base .. 'sessions', '-inf', over)
  redis.call('ZREMRANGEBYSCORE', base .. 'placed:' .. place, '-inf', over)
end
-- Makes the row of a session unless it is there.
local function insert(base, place, id, head, tenant, limits)
  local key = base .. 'session:' .. id
  if redis.call('EXISTS', key) == 1 then return end
  local now = millis()
  redis.call('HSET', key, 'h', head, 'n', tenant, 'g', place, 'b', now, 'u', now, 't', 0)
  used(base, place, id, now, limits)
  for _, old in ipairs(redis.call('ZREVRANGE', base .. 'placed:' .. place, limits.sessions, -1)) do
    if old ~= id then erase(base, place, old) end
  end
end
local function make(base, place, turn, head, tenant, limits)
  local id = session_of(base, place, turn)
  if not id then
    id = turn
    switch(base, place, turn, id, limits)
  end
  insert(base, place, id, head, tenant, limits)
  return id
end
-- Appends and keeps the newest; what is there already is not put twice.
local function remember(base, place, turn, head, tenant, person, title, item, limits)
  local id = make(base, place, turn, head, tenant, limits)
  local key, items = base .. 'session:' .. id, base .. 'items:' .. id
  if redis.call('LPOS', items, item, 'RANK', -1, 'MAXLEN', 32) then return end
  redis.call('RPUSH', items, item)
  redis.call('LTRIM', items, -limits.items, -1)
  local now = millis()
  redis.call('HSET', key, 'u', now, 'w:' .. person, 1)
  redis.call('HINCRBY', key, 't', 1)
  redis.call('HSETNX', key, 'i', title)
  used(base, place, id, now, limits)
end
local function limits_of(list)
  local keep, items, sessions, switches = string.match(list, '^(%d+) (%d+) (%d+) (%d+)$')
  return { keep = tonumber(keep), items = tonumber(items), sessions = tonumber(sessions), switches = tonumber(switches) }
end
