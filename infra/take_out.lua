-- take_out: take one waiting item out of its lane, if no turn has taken it and it is as it was seen; push what tells of it
-- ARGV[1] job_id   ARGV[2] queue   ARGV[3] item id   ARGV[4] its body as it was seen
-- ARGV[5] n, then n pushes: job_id, queue, item_id, body, owner, solo 0|1, hold_ms
-- RETURNS {'done'} | {'gone'} | {'edited'} | {'taken'} | {'wrong_type', key}; but for 'done' nothing changed
-- INCLUDE lane.lua
-- INCLUDE changes.lua
local job_id, queue, item_id, seen = unpack(ARGV, 1, 4)
local k = lane_keys(job_id)
at = 5
local pushes = list(read_push)

-- everything that can fail
local bad = lane_wrong_type(k, queue)
for _, p in ipairs(pushes) do bad = bad or push_wrong_type(p) end
if bad then return { 'wrong_type', bad } end
local body = redis.call('HGET', k.bodies, item_id)
if not body then return { 'gone' } end
if body ~= seen then return { 'edited' } end
local turn, ids = unpack(redis.call('HMGET', k.state, 'turn', 'taken'))
local readable, taken = pcall(cjson.decode, turn and ids or '[]')
for _, id in ipairs(readable and taken or {}) do
  if id == item_id then return { 'taken' } end
end

-- everything that changes
redis.call('LREM', k.items, 0, '0:' .. item_id)
redis.call('LREM', k.items, 0, '1:' .. item_id)
redis.call('HDEL', k.bodies, item_id)
if redis.call('LLEN', k.items) == 0 and redis.call('PTTL', k.lease) <= 0 then clear(k, job_id, queue) end
for _, p in ipairs(pushes) do push(p) end
return { 'done' }
