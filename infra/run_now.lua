-- run_now: make a lane due that waits for its next attempt, or for further parts of a message
-- ARGV[1] job_id   ARGV[2] queue   ARGV[3] its turn as it was seen, '' for none
-- RETURNS 'done' | 'gone': nothing waits in it | 'other': another turn | 'taken': it runs, or is due | 'paused'; but for
--         'done' nothing changed
-- INCLUDE lane.lua
local job_id, queue, seen = unpack(ARGV)
local k = lane_keys(job_id)
local bad = lane_wrong_type(k, queue)
if bad then return redis.error_reply('WRONGTYPE ' .. bad) end
if redis.call('LLEN', k.items) == 0 then return 'gone' end
if (redis.call('HGET', k.state, 'turn') or '') ~= seen then return 'other' end
if redis.call('PTTL', k.lease) > 0 then return 'taken' end
if is_paused(job_id, paused_bots()) then return 'paused' end
local queued = redis.call('ZSCORE', queue, job_id)
if queued and tonumber(queued) <= now_ms() then return 'taken' end
redis.call('HDEL', k.state, 'not_before', 'hold_until', 'held_since')
enqueue(k, job_id, queue, now_ms())
return 'done'
