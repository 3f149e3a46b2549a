-- Gives a lease back, if it is the asker's; the fence stays and grows on.
-- KEYS: lease   ARGV: who asks
if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'owner', '', 'until', 0)
end
return 1
