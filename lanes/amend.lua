-- amend: put another text in the place of a waiting message, if no turn has taken it yet
-- KEYS[1] claim of the edit's update
-- ARGV[1] job_id   ARGV[2] how a body names its message   ARGV[3] the new body   ARGV[4] how it names its own id, up to it
-- ARGV[5] the id in it   ARGV[6] what no body that may be amended holds   ARGV[7] a mark   ARGV[8] the new body for one
-- that holds the mark   ARGV[9] claim ttl, ms
-- RETURNS 'amended' | 'known': this update was taken before | 'missed': it does not wait any more
-- INCLUDE infra/lane.lua
local claim, job_id, names, body, before, id, never, mark, marked, ttl_ms = KEYS[1], unpack(ARGV)
if redis.call('EXISTS', claim) == 1 then return 'known' end
local k = lane_keys(job_id)

-- ids of the turn that is fixed: its holder has read their bodies
local function taken()
  local turn, ids = unpack(redis.call('HMGET', k.state, 'turn', 'taken'))
  local readable, found = pcall(cjson.decode, turn and ids or '[]')
  local is_taken = {}
  for _, one in ipairs(readable and found or {}) do is_taken[one] = true end
  return is_taken
end

local is_taken = taken()
local waiting = redis.call('LRANGE', k.items, 0, -1)
for i = #waiting, 1, -1 do      -- the newest first: that is what people correct
  local item_id = waiting[i]:sub(3)
  local old = redis.call('HGET', k.bodies, item_id)
  if old and not is_taken[item_id] and old:find(names, 1, true) and not old:find(never, 1, true) then
    local new = old:find(mark, 1, true) and marked or body
    local from, to = new:find(before .. id, 1, true)
    redis.call('HSET', k.bodies, item_id, new:sub(1, from - 1) .. before .. item_id .. new:sub(to + 1))
    redis.call('SET', claim, '1', 'PX', ttl_ms)
    return 'amended'
  end
end
return 'missed'
