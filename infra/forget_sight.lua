-- Included by forget_look and forget: everything that holds text of an owner, as one value.
-- keys: {ring, lanes of the owner, dead letters of the owner, facts of the owner}. Reading it raises WRONGTYPE if a key is
-- not what it should be.
-- Gives {ring entries, {id, letter, …}, {id, fact, …}, {job_id, {solo:id, …}, {id, body, …}, {name, kept value, …}}…}; lanes
-- are sorted.
local function sight(keys, lane_prefix)
  local seen = { redis.call('LRANGE', keys[1], 0, -1), redis.call('HGETALL', keys[3]), redis.call('HGETALL', keys[4]) }
  local jobs = redis.call('SMEMBERS', keys[2])
  table.sort(jobs)
  for _, job_id in ipairs(jobs) do
    local base = lane_prefix .. job_id
    seen[#seen + 1] = {
      job_id, redis.call('LRANGE', base .. ':items', 0, -1), redis.call('HGETALL', base .. ':bodies'),
      redis.call('HGETALL', base .. ':kept'),
    }
  end
  return seen
end

-- changes whenever anything of it changed
local function stamp(seen) return redis.sha1hex(cmsgpack.pack(seen)) end
