-- Takes a message in, once per key.
-- KEYS: seen, turn, lane, lanes, keys of the account
-- ARGV: id, lane's hash, head, said, lane's most, seconds to keep, keys' most, the key, what seen keys begin with
local known = redis.call('GET', KEYS[1])
if known then
  if known ~= ARGV[1] then return {'known', known} end
  -- The same acceptance again, whose answer was lost.
  if redis.call('HEXISTS', KEYS[2], 'b') == 1 then return {'full', ''} end
  return {'new', tostring(redis.call('LPOS', KEYS[3], ARGV[1]) or 0)}
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[6])
if redis.call('RPUSH', KEYS[5], ARGV[8]) > tonumber(ARGV[7]) then
  redis.call('DEL', ARGV[9] .. redis.call('LPOP', KEYS[5]))
end
redis.call('EXPIRE', KEYS[5], ARGV[6])
local waiting = redis.call('LLEN', KEYS[3])
if waiting >= tonumber(ARGV[5]) then
  redis.call('HSET', KEYS[2], 's', 5, 'l', 0, 'b', 1, 'h', ARGV[3])
  redis.call('EXPIRE', KEYS[2], ARGV[6])
  return {'full', ''}
end
redis.call('HSET', KEYS[2], 's', 0, 'l', 0, 'h', ARGV[3], 'm', ARGV[4])
redis.call('RPUSH', KEYS[3], ARGV[1])
redis.call('ZADD', KEYS[4], 'NX', redis.call('TIME')[1], ARGV[2])
return {'new', tostring(waiting)}
