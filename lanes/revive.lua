-- revive: put a dead letter back into its lane
-- KEYS[1] dead letters of the owner   KEYS[2] index of all dead letters
-- ARGV[1] item id   ARGV[2] the letter as it was read   ARGV[3] member of the index
-- ARGV[4…10] job_id, queue, item_id, body, owner, solo 0|1, hold_ms
-- RETURNS 1, or 0 if the letter was changed or taken by somebody else meanwhile
-- INCLUDE lane.lua
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
local p = { job_id = ARGV[4], queue = ARGV[5], item_id = ARGV[6], body = ARGV[7], owner = ARGV[8], solo = ARGV[9],
            hold_ms = ARGV[10], lane = lane_keys(ARGV[4]) }
local bad = push_wrong_type(p) or wrong_type(KEYS[2], 'zset')
if bad then return redis.error_reply('WRONGTYPE ' .. bad) end
push(p)
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[3])
return 1
