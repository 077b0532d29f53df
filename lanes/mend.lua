-- mend: give a lane with waiting items its job back, if it has none
-- ARGV[1] job_id   ARGV[2] queue   ARGV[3] counter to raise when that was needed
-- RETURNS 1 if it was needed, else 0
-- INCLUDE lane.lua
local job_id, queue = ARGV[1], ARGV[2]
local k = lane_keys(job_id)
if lane_wrong_type(k, queue) then return 0 end
if redis.call('LLEN', k.items) == 0 or redis.call('ZSCORE', queue, job_id) then return 0 end
redis.call('INCR', ARGV[3])
enqueue(k, job_id, queue, due_at(unpack(redis.call('HMGET', k.state, 'not_before', 'hold_until'))))
return 1
