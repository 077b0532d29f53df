-- release: give a lane back without an end of its turn
-- ARGV[1] job_id   ARGV[2] queue   ARGV[3] token   ARGV[4] not before, ms from now   ARGV[5] counts as failure 0|1
-- ARGV[6] split 0, or how many items are to be tried one by one from now on
-- RETURNS 1, or 0 if the lane is not ours any more, or -1 if its turn has kept something and so cannot be split
-- INCLUDE infra/lane.lua
local job_id, queue, token, split = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[6])
local k = lane_keys(job_id)
if redis.call('GET', k.lease) ~= token then return 0 end
local bad = lane_wrong_type(k, queue)
if bad then return redis.error_reply('WRONGTYPE ' .. bad) end
if split > 0 and redis.call('EXISTS', k.kept) == 1 then return -1 end
redis.call('HDEL', k.state, 'open')
if ARGV[5] == '1' then
  redis.call('HSET', k.state, 'failures', (tonumber(redis.call('HGET', k.state, 'failures') or 0) or 0) + 1)
end
if split > 0 then
  redis.call('HDEL', k.state, 'turn', 'taken', 'epoch', 'deaths', 'failures')
  redis.call('HSET', k.state, 'single', split)
end
redis.call('HSET', k.state, 'not_before', now_ms() + tonumber(ARGV[4]))
let_go(k, job_id, queue)
return 1
