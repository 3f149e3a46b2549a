-- One change of what a place remembers.
-- KEYS: sessions of the place, newest first   ARGV: verb, base, place's hash, limits, then what the verb takes
local verb, base, place, limits = ARGV[1], ARGV[2], ARGV[3], limits_of(ARGV[4])
local verbs = {}
-- turn; the whole session, so that a turn asks once
function verbs.current(turn)
  local id = session_of(base, place, turn)
  if not id then return {'', {}, {}} end
  return {id, redis.call('HGETALL', base .. 'session:' .. id), redis.call('LRANGE', base .. 'allowed:' .. id, 0, -1)}
end
-- turn, head, tenant
function verbs.open(turn, head, tenant) return make(base, place, turn, head, tenant, limits) end
function verbs.begin(turn, head, tenant)
  local before = session_of(base, place, turn)
  switch(base, place, turn, turn, limits)
  insert(base, place, turn, head, tenant, limits)
  -- One in which nothing was said is not worth its place in the list.
  if before and before ~= turn and redis.call('HGET', base .. 'session:' .. before, 't') == '0' then
    erase(base, place, before)
  end
  return turn
end
-- turn, id
function verbs.resume(turn, id)
  switch(base, place, turn, id, limits)
  return id
end
-- turn, head, tenant, person, title, item
function verbs.remember(turn, head, tenant, person, title, item)
  remember(base, place, turn, head, tenant, person, title, item, limits)
  return ''
end
function verbs.erase(id) return tostring(erase(base, place, id)) end
-- id, then a change
local function there(id) return redis.call('EXISTS', base .. 'session:' .. id) == 1 end
function verbs.mount(id, names)
  if not there(id) then return '0' end
  if names == '' then redis.call('HDEL', base .. 'session:' .. id, 'm')
  else redis.call('HSET', base .. 'session:' .. id, 'm', names) end
  return '1'
end
function verbs.allow(id, digest, most)
  if not there(id) then return '0' end
  local key = base .. 'allowed:' .. id
  redis.call('LREM', key, 0, digest)
  redis.call('RPUSH', key, digest)
  redis.call('LTRIM', key, -tonumber(most), -1)
  redis.call('EXPIRE', key, limits.keep)
  return '1'
end
-- read, began: how far it was noted when it was read, and when it began; one that was erased begins anew under its id
function verbs.summary(id, text, to, read, began)
  if not there(id) then return '0' end
  local key = base .. 'session:' .. id
  local noted = redis.call('HGET', key, 'z') or ''
  if noted == read and noted < to and redis.call('HGET', key, 'b') == began then
    redis.call('HSET', key, 's', text, 'z', to)
  end
  return '1'
end
-- who spoke, how far it is noted from now on, and the head where the owner is not known any more
function verbs.forget(id, who, noted, head)
  if not there(id) then return '0' end
  local key = base .. 'session:' .. id
  redis.call('HDEL', key, who, 's')
  redis.call('HSET', key, 'z', noted)
  if head ~= '' then redis.call('HSET', key, 'h', head, 'i', '') end
  return '1'
end
return verbs[verb](unpack(ARGV, 5))
