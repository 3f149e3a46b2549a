-- Notes an artefact and makes room for it. KEYS: index (member -> until), size (bytes of all).
-- ARGV: now, until, member, bytes, most bytes. A member is place:id:person:bytes. Returns the members that had to go.
local gone = {}
local function out(member)
  redis.call('ZREM', KEYS[1], member)
  redis.call('DECRBY', KEYS[2], tonumber(string.match(member, ':(%d+)$')))
  gone[#gone + 1] = member
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 256)) do out(member) end
if ARGV[3] == '' then return gone end
if redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3]) == 1 then redis.call('INCRBY', KEYS[2], ARGV[4]) end
while tonumber(redis.call('GET', KEYS[2])) > tonumber(ARGV[5]) do
  local first = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
  if not first or first == ARGV[3] then break end
  out(first)
end
return gone
