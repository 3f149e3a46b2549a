-- Takes or renews a lease; answers its fence, or nothing when somebody else holds it.
-- KEYS: lease   ARGV: who asks, milliseconds, an owner known to be dead
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'owner', 'fence', 'until')
local fence = tonumber(held[2] or '0')
if held[1] ~= ARGV[1] then
  local free = not held[1] or held[1] == '' or held[1] == ARGV[3] or tonumber(held[3] or '0') <= now
  if not free then return '' end
  -- Not less than the clock: should the store lose its memory, fences still grow.
  fence = math.max(fence + 1, now)
end
local text = string.format('%.0f', fence)
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'fence', text, 'until', string.format('%.0f', now + ARGV[2]))
return text
