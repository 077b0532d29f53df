-- forget: remove texts of an owner, end its sessions and raise its epoch, all in one step
-- KEYS[1] ring   KEYS[2] lanes of the owner   KEYS[3] dead letters of the owner   KEYS[4] ids of all dead letters
-- KEYS[5] expiry   KEYS[6] epoch   KEYS[7] claim of the update   KEYS[8] what this update removed; '' for no update
-- KEYS[9] records of its turns
-- ARGV[1] owner   ARGV[2] ttl of the epoch, ms   ARGV[3] prefix of a lane's keys   ARGV[4] prefix of a session's key
-- ARGV[5] prefix of an answer's key   ARGV[6] prefix of a fold's key   ARGV[7] 'all' | 'some'
-- ARGV[8] stamp of what was seen, '' to go by values alone
-- ARGV[9…] for 'some', three words each: 'ring' '' entry | 'item' job_id id | 'kept' job_id name | 'dead' '' id
-- RETURNS ring entries removed; -1: the update was taken before; -2: something changed since it was seen
-- INCLUDE forget_sight.lua
local ring, lanes_of, dead_of, dead, expiry, epoch, claim, note, turns = unpack(KEYS)
local owner, epoch_ttl_ms, lane_prefix, session_prefix, answer_prefix, fold_prefix, mode, seen_stamp = unpack(ARGV, 1, 8)

-- everything that can fail: these reads raise WRONGTYPE before anything was written
if claim ~= '' then
  if redis.call('EXISTS', claim) == 1 then return -1 end
  local removed = redis.call('GET', note)      -- done, but its process died before the update was taken
  if removed then return tonumber(removed) end
end
local jobs = redis.call('SMEMBERS', lanes_of)
redis.call('ZCARD', dead)
redis.call('ZCARD', expiry)
if not tonumber(redis.call('GET', epoch) or 0) then return redis.error_reply('WRONGTYPE ' .. epoch) end
local letters = redis.call('HKEYS', dead_of)
if mode == 'some' then
  local seen = sight(KEYS, lane_prefix)
  if seen_stamp ~= '' and stamp(seen) ~= seen_stamp then return -2 end
end

-- everything that changes; removals first, so that a full Redis can forget too
local function bury(id)
  redis.call('HDEL', dead_of, id)
  redis.call('ZREM', dead, owner .. '|' .. id)
end

local function drop_all()
  local count = redis.call('TYPE', ring).ok == 'list' and redis.call('LLEN', ring) or 0
  redis.call('DEL', ring)
  for _, id in ipairs(letters) do bury(id) end
  for _, job_id in ipairs(jobs) do      -- their jobs stay: whoever serves the lane finds it empty and cleans up
    local base = lane_prefix .. job_id
    redis.call('DEL', base .. ':items', base .. ':bodies', base .. ':kept')
  end
  return count
end

local drop = {
  ring = function(_, entry) return redis.call('LREM', ring, -1, entry) end,
  dead = function(_, id) bury(id) return 0 end,
  kept = function(job_id, name) redis.call('HDEL', lane_prefix .. job_id .. ':kept', name) return 0 end,
  item = function(job_id, id)
    local base = lane_prefix .. job_id
    redis.call('LREM', base .. ':items', 0, '0:' .. id)
    redis.call('LREM', base .. ':items', 0, '1:' .. id)
    redis.call('HDEL', base .. ':bodies', id)
    return 0
  end,
}

local removed = 0
if mode == 'all' then removed = drop_all() end
for i = 9, #ARGV, 3 do removed = removed + drop[ARGV[i]](ARGV[i + 1], ARGV[i + 2]) end
for _, job_id in ipairs(jobs) do
  local lane = job_id:match('^%a+:(.*)$') or job_id
  redis.call('DEL', session_prefix .. lane, answer_prefix .. lane, fold_prefix .. lane)
  redis.call('ZREM', expiry, session_prefix .. lane, fold_prefix .. lane)
end
redis.call('DEL', turns)
redis.call('ZREM', expiry, turns)
if redis.call('EXISTS', ring) == 0 then redis.call('ZREM', expiry, ring) end
redis.call('INCR', epoch)
redis.call('PEXPIRE', epoch, epoch_ttl_ms)
if claim ~= '' then redis.call('SET', note, removed, 'PX', 172800000) end      -- 48 h, as long as the claim
return removed
