-- Changes a tool, if it is what it was before, and tells every process.
-- KEYS: tools, versions of tools, changes of this tool, generation
-- ARGV: name, version before, version, tool, change, most changes, most tools, channel
-- Answers 0 when it came too late, 2 when there is no room for one more, else 1.
local now = redis.call('HGET', KEYS[2], ARGV[1]) or '0'
-- A script whose answer was lost is sent again.
if now == ARGV[3] and redis.call('HGET', KEYS[1], ARGV[1]) == ARGV[4] then return 1 end
if now ~= ARGV[2] then return 0 end
if now == '0' and redis.call('HLEN', KEYS[2]) >= tonumber(ARGV[7]) then return 2 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[4])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('LPUSH', KEYS[3], ARGV[5])
redis.call('LTRIM', KEYS[3], 0, ARGV[6] - 1)
redis.call('PUBLISH', ARGV[8], redis.call('INCR', KEYS[4]))
return 1
