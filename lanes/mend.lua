-- mend: give a lane with waiting items its job back, if it has none, or is parked though nobody paused its bot
-- ARGV[1] job_id   ARGV[2] queue   ARGV[3] counter to raise when that was needed
-- RETURNS 1 if it was needed, else 0
-- INCLUDE infra/lane.lua
local job_id, queue = ARGV[1], ARGV[2]
local k = lane_keys(job_id)
if lane_wrong_type(k, queue) then return 0 end
if redis.call('LLEN', k.items) == 0 then return 0 end
local queued = redis.call('ZSCORE', queue, job_id)
if queued and (tonumber(queued) < PARKED_MS or is_paused(job_id, paused_bots())) then return 0 end
redis.call('INCR', ARGV[3])
enqueue(k, job_id, queue, due_at(unpack(redis.call('HMGET', k.state, 'not_before', 'hold_until'))))
return 1
