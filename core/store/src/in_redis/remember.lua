-- Appends to what a session remembers; what is there already is not put twice.
-- KEYS: session   ARGV: item, most, seconds to keep
if redis.call('LPOS', KEYS[1], ARGV[1], 'RANK', -1, 'MAXLEN', 32) then return 0 end
redis.call('RPUSH', KEYS[1], ARGV[1])
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[2]), -1)
redis.call('EXPIRE', KEYS[1], ARGV[3])
return 1
