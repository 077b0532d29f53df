-- replace_session: put another value in the place of a session that is still as it was read
-- KEYS[1] session, string   KEYS[2] expiry, zset of session → when the first of its texts expires, ms of koi's clock
-- ARGV[1] what was read, '' for nothing   ARGV[2] new value, '' to remove it   ARGV[3] score for KEYS[2]
-- RETURNS 1; 0: it was changed meanwhile, nothing was done
local session, expiry = KEYS[1], KEYS[2]
local read, new, score = ARGV[1], ARGV[2], ARGV[3]

local stored = redis.call('GET', session) or ''
redis.call('ZCARD', expiry)      -- raises WRONGTYPE before anything was written
if stored ~= read then return 0 end

if new == '' then
  redis.call('DEL', session)
  redis.call('ZREM', expiry, session)
  return 1
end
if new ~= stored then redis.call('SET', session, new, 'KEEPTTL') end
redis.call('ZADD', expiry, score, session)
return 1
