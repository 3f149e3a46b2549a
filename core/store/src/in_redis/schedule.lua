-- Writes a schedule, if the version before it is the one that is there.
-- KEYS: schedules, their versions, when they are due, when they were made, the owner's, the tenant's
-- ARGV: id, version, schedule, when it is due or nothing, when it was made, most of an owner, most of a tenant
-- Answers 0 when it came too late, 1 when it is there, 2 when the owner has too many, 3 when the tenant has.
local id, version = ARGV[1], tonumber(ARGV[2])
local there = tonumber(redis.call('HGET', KEYS[2], id))
if there then
  -- A script whose answer was lost is sent again.
  if there == version and redis.call('HGET', KEYS[1], id) == ARGV[3] then return 1 end
  if there + 1 ~= version then return 0 end
else
  if version ~= 1 then return 0 end
  if redis.call('SCARD', KEYS[5]) >= tonumber(ARGV[6]) then return 2 end
  if redis.call('SCARD', KEYS[6]) >= tonumber(ARGV[7]) then return 3 end
  redis.call('SADD', KEYS[5], id)
  redis.call('SADD', KEYS[6], id)
  redis.call('ZADD', KEYS[4], ARGV[5], id)
end
redis.call('HSET', KEYS[1], id, ARGV[3])
redis.call('HSET', KEYS[2], id, version)
if ARGV[4] == '' then redis.call('ZREM', KEYS[3], id) else redis.call('ZADD', KEYS[3], ARGV[4], id) end
return 1
