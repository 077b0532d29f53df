-- expire_strings: delete keys that hold one value of one age each, as far as they are still due
-- KEYS[1] expiry, zset of key → when its value expires, ms of koi's clock   KEYS[2…] the keys
-- ARGV[1] now, ms of koi's clock
-- RETURNS how many of them were there and are deleted
local expiry, now = KEYS[1], tonumber(ARGV[1])

local removed = 0
for i = 2, #KEYS do
  local due = tonumber(redis.call('ZSCORE', expiry, KEYS[i]) or now + 1)      -- raises WRONGTYPE before anything was written
  if due <= now then
    removed = removed + redis.call('DEL', KEYS[i])
    redis.call('ZREM', expiry, KEYS[i])
  end
end
return removed
