-- Changes an approval's state, if it is what it was; a turn that is parked goes back to the front of its lane.
-- KEYS: approval, approvals that are asked, turn, lane, lanes, due
-- ARGV: id, state before and its details, state and its details, whether it stays open, turn's id, lane's hash, seconds to
--       keep what is settled
-- Answers 0 when it came too late, 2 when the turn is in its lane, else 1.
local state, detail = unpack(redis.call('HMGET', KEYS[1], 's', 'd'))
-- A script whose answer was lost is sent again.
local again = state == ARGV[4] and detail == ARGV[5]
-- No details at all: whatever they are, since they cannot be read.
if not again and not (state == ARGV[2] and (detail == ARGV[3] or ARGV[3] == '')) then return 0 end
redis.call('HSET', KEYS[1], 's', ARGV[4], 'd', ARGV[5])
if ARGV[6] == '1' then return 1 end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[9])
local turn = redis.call('HGET', KEYS[3], 's')
if turn == '2' then
  redis.call('ZREM', KEYS[6], ARGV[7])
  redis.call('HDEL', KEYS[3], 'w')
  if not redis.call('LPOS', KEYS[4], ARGV[7]) then redis.call('LPUSH', KEYS[4], ARGV[7]) end
  redis.call('ZADD', KEYS[5], 'NX', redis.call('TIME')[1], ARGV[8])
  redis.call('HSET', KEYS[3], 's', 0)
  turn = '0'
end
return turn == '0' and 2 or 1
