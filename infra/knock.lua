-- knock: somebody unknown asks to be let in; who asks again has the same code, as long as it is good
-- KEYS[1] hash of this request (infra.keys.knock)   KEYS[2] zset of open requests of its kind (infra.keys.knocks)
-- ARGV[1] who   ARGV[2] Knock JSON, with a code of its own   ARGV[3] now, ms of koi's clock   ARGV[4] how long a code is
-- good, ms   ARGV[5] requests that may be open at once
-- RETURNS {Knock JSON, how often they asked, from 1}, or {'', 0}: too many are open
local request, open = KEYS[1], KEYS[2]
local who, fresh, now, good_ms, most = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local known, ends = unpack(redis.call('HMGET', request, 'knock', 'until'))
if known and tonumber(ends) > now and tonumber(ends) <= now + good_ms then
  return { known, redis.call('HINCRBY', request, 'times', 1) }
end
if redis.call('ZCOUNT', open, '(' .. now, '+inf') >= most then return { '', 0 } end
redis.call('DEL', request)
redis.call('HSET', request, 'knock', fresh, 'until', now + good_ms, 'times', 1)
redis.call('PEXPIRE', request, good_ms)
redis.call('ZREMRANGEBYSCORE', open, '-inf', now)
redis.call('ZADD', open, now + good_ms, who)
redis.call('PEXPIRE', open, good_ms)
return { fresh, 1 }
