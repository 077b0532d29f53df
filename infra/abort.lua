-- abort: end the turn of a lane early, if it is still that one; if it waits for its next attempt, that begins now and ends
-- KEYS[1] infra.keys.stop of the lane
-- ARGV[1] job_id   ARGV[2] queue   ARGV[3] turn   ARGV[4] ttl of the stop, ms   ARGV[5] infra.keys.stop_channel
-- RETURNS 'done' | 'ended': it is over; then nothing changed
-- INCLUDE lane.lua
local job_id, queue, turn, ttl_ms, channel = unpack(ARGV)
local k = lane_keys(job_id)
local bad = lane_wrong_type(k, queue)
if bad then return redis.error_reply('WRONGTYPE ' .. bad) end
if redis.call('HGET', k.state, 'turn') ~= turn then return 'ended' end
redis.call('SET', KEYS[1], turn, 'PX', ttl_ms)
redis.call('PUBLISH', channel, turn)
if redis.call('PTTL', k.lease) <= 0 and not is_paused(job_id, paused_bots()) then
  redis.call('HDEL', k.state, 'not_before', 'hold_until', 'held_since')
  enqueue(k, job_id, queue, now_ms())
end
return 'done'
