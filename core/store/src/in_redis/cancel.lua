-- Marks a turn that is not answered.
-- KEYS: turn
local state = redis.call('HGET', KEYS[1], 's')
if not state or tonumber(state) >= 4 then return 0 end
redis.call('HSET', KEYS[1], 'c', 1)
return 1
