-- replace_ring: put other entries in the place of a ring that is still as it was read
-- KEYS[1] ring, list   KEYS[2] expiry, zset of ring → when its first entry expires, ms of koi's clock
-- ARGV[1] ttl of the ring, ms; 0 leaves it as it is   ARGV[2] score for KEYS[2]   ARGV[3] how many entries were read
-- ARGV[4…] the entries that were read, then the new ones, oldest first
-- RETURNS 1; 0: it was changed meanwhile, nothing was done
local ring, expiry = KEYS[1], KEYS[2]
local ttl_ms, score, read = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

local stored = redis.call('LRANGE', ring, 0, -1)
redis.call('ZCARD', expiry)      -- raises WRONGTYPE before anything was written
if #stored ~= read then return 0 end
for i = 1, read do
  if stored[i] ~= ARGV[3 + i] then return 0 end
end

if ttl_ms == 0 then ttl_ms = redis.call('PTTL', ring) end
redis.call('DEL', ring)      -- first, so that a full Redis can forget too
if #ARGV == 3 + read then
  redis.call('ZREM', expiry, ring)
  return 1
end
for i = 4 + read, #ARGV do redis.call('RPUSH', ring, ARGV[i]) end
if ttl_ms > 0 then redis.call('PEXPIRE', ring, ttl_ms) end
redis.call('ZADD', expiry, score, ring)
return 1
