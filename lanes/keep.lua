-- keep: put values aside for the retry of the running turn
-- ARGV[1] job_id   ARGV[2] token   ARGV[3] ttl_ms or 0   ARGV[4] owner   ARGV[5] epoch   ARGV[6…]  name, value, …
-- RETURNS 1, or 0 if the lane is not ours any more, or -1 if the owner forgot meanwhile: then an inbox stores nothing
-- INCLUDE infra/lane.lua
local k = lane_keys(ARGV[1])
if redis.call('GET', k.lease) ~= ARGV[2] then return 0 end
if ARGV[1]:sub(1, 3) == 'in:' and is_stale(ARGV[4], ARGV[5]) then return -1 end
redis.call('HSET', k.kept, unpack(ARGV, 6))      -- raises on a wrong type; nothing was written before it
if tonumber(ARGV[3]) > 0 then redis.call('PEXPIRE', k.kept, ARGV[3]) end
return 1
