-- resume: end a pause, and wake the lanes that were parked by it
-- KEYS[1] infra.keys.paused   KEYS[2] infra.keys.inbox_queue
-- ARGV[1] bot id, or '*' for all   ARGV[2] since when it was paused, as it was seen
-- RETURNS 1, or 0 if it is not paused, or paused again since: then nothing changed
-- INCLUDE lane.lua
local pauses, queue = KEYS[1], KEYS[2]
if redis.call('HGET', pauses, ARGV[1]) ~= ARGV[2] then return 0 end
local bad = wrong_type(queue, 'zset') or wrong_type(queue .. ':bell', 'list')
if bad then return redis.error_reply('WRONGTYPE ' .. bad) end
redis.call('HDEL', pauses, ARGV[1])

-- a back-off, or the wait for further parts, may have become longer while it was parked; nothing, if that cannot be read
local function not_before(job_id)
  local v = redis.pcall('HMGET', lane_keys(job_id).state, 'not_before', 'hold_until')
  return v.err and 0 or math.max(tonumber(v[1] or 0) or 0, tonumber(v[2] or 0) or 0)
end

local paused = paused_bots()
local parked = redis.call('ZRANGEBYSCORE', queue, PARKED_MS, '+inf', 'WITHSCORES')
for i = 1, #parked, 2 do
  local job_id, at = parked[i], parked[i + 1] - PARKED_MS
  if not is_paused(job_id, paused) then
    redis.call('ZADD', queue, math.max(at, not_before(job_id)), job_id)
    if i <= 512 then redis.call('LPUSH', queue .. ':bell', '1') end
  end
end
return 1
