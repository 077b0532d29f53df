-- migrate: what a group had under its old chat id, it has under its new one, in one step; what is there already stays
-- KEYS[1] old, [2] new: lanes of the owner   [3] old, [4] new: ring   [5] old, [6] new: records of its turns
-- KEYS[7] old, [8] new: things   [9] old, [10] new: facts   [11] old, [12] new: its dead letters
-- KEYS[13] epoch, old   [14] epoch, new   [15] ids of all dead letters   [16] due   [17] expiry   [18] groups let in
-- KEYS[19] old, [20] new: that the chat wants rich messages
-- ARGV[1] owner, old   [2] owner, new   [3] bot id   [4] chat id, old   [5] chat id, new
-- ARGV[6] prefix of a lane's keys   [7] of leases   [8] of lane jobs   [9] inbox queue   [10] prefix of outbox queues
-- ARGV[11] n, then n prefixes of the strings that a lane has, then those of its hashes
-- RETURNS {'done', lanes that had something} | {'busy', job_id} | {'wrong_type', key}; but for 'done' nothing changed
local owner, new_owner, bot, chat, new_chat, lane_prefix, lease_prefix, job_prefix, inbox, outbox = unpack(ARGV, 1, 10)
local lanes_of, dead, due, expiry, groups = KEYS[1], KEYS[15], KEYS[16], KEYS[17], KEYS[18]
local first_hash = 12 + ARGV[11]
local SIDES = { 'in', 'out', 'fold' }
local LANES_OF_TTL_MS = 34560000000      -- 400 days, as lanes/lane.lua has it

-- ── reading: all that can fail is asked before the first write ──
local bad
local function is(key, wanted)
  local found = redis.call('TYPE', key).ok
  if found ~= 'none' and found ~= wanted then bad = bad or key end
  return found == wanted
end

local function sides_of(job_id)
  local base = lane_prefix .. job_id
  return { id = job_id, items = base .. ':items', bodies = base .. ':bodies', state = base .. ':state', kept = base .. ':kept',
           lease = lease_prefix .. job_id, job = job_prefix .. job_id }
end

local function exact(text) return (text:gsub('%p', '%%%0')) end
local function renamed(job_id) return job_id:match('^(%a+:[^:]+):' .. exact(chat) .. ':0$') end

for i = 1, 2 do is(KEYS[i], 'set') end
for i = 3, 6 do is(KEYS[i], 'list') end
for i = 7, 12 do is(KEYS[i], 'hash') end
for i = 15, 17 do is(KEYS[i], 'zset') end
is(groups, 'hash')
for i = 19, 20 do is(KEYS[i], 'string') end
if bad then return { 'wrong_type', bad } end
local jobs, bots = redis.call('SMEMBERS', lanes_of), { [bot] = true }
for _, job_id in ipairs(jobs) do
  local head = renamed(job_id)
  if head then bots[head:match(':(.*)')] = true end
end

local moves, lanes = {}, {}
for one in pairs(bots) do
  local old, new = one .. ':' .. chat .. ':0', one .. ':' .. new_chat .. ':0'
  lanes[#lanes + 1] = { old = old, new = new }
  for i = 12, #ARGV do
    for _, lane in ipairs({ old, new }) do is(ARGV[i] .. lane, i < first_hash and 'string' or 'hash') end
  end
  for _, side in ipairs(SIDES) do
    local from, to = sides_of(side .. ':' .. old), sides_of(side .. ':' .. new)
    local queue = side == 'out' and outbox .. one or inbox
    is(queue, 'zset')
    is(queue .. ':bell', 'list')
    for _, k in ipairs({ from, to }) do
      is(k.items, 'list')
      is(k.bodies, 'hash')
      is(k.state, 'hash')
      is(k.kept, 'hash')
    end
    if redis.call('EXISTS', from.items, from.bodies, from.state, from.kept, from.lease, from.job) > 0 then
      moves[#moves + 1] = { from = from, to = to, queue = queue }
    end
  end
end
if bad then return { 'wrong_type', bad } end
for _, move in ipairs(moves) do      -- what a turn has kept belongs to that turn, and a lane has but one
  if redis.call('EXISTS', move.from.kept) == 1 and redis.call('HEXISTS', move.to.state, 'turn') == 1 then
    return { 'busy', move.from.id }
  end
end
local t = redis.call('TIME')
local now_ms = t[1] * 1000 + math.floor(t[2] / 1000)
local epoch, new_epoch = redis.call('GET', KEYS[13]) or '0', redis.call('GET', KEYS[14]) or '0'

-- ── texts: the names of chat, owner and lane in stored JSON. In what a person wrote the quotes are escaped, so it never
-- looks like them; in a dead letter the body is escaped once (q), and what a person wrote twice ──
local function put(text) return (text:gsub('%%', '%%%%')) end
local function moved(text, q)
  q = q or '"'
  local colon = q .. ':' .. q
  text = text:gsub(exact(q .. 'chat_id' .. colon .. chat .. q), put(q .. 'chat_id' .. colon .. new_chat .. q))
  text = text:gsub(exact(q .. 'owner' .. colon .. owner .. q), put(q .. 'owner' .. colon .. new_owner .. q))
  local tail, new_tail = ':' .. exact(chat .. ':0' .. q), put(':' .. new_chat .. ':0' .. q)
  text = text:gsub(exact(q .. 'lane' .. colon) .. '([^:"\\]+)' .. tail, put(q .. 'lane' .. colon) .. '%1' .. new_tail)
  text = text:gsub(exact(q .. 'job_id' .. colon) .. '(%a+:[^:"\\]+)' .. tail, put(q .. 'job_id' .. colon) .. '%1' .. new_tail)
  return text
end

-- ── writing ──
local function lives(key, ttl_ms) if ttl_ms > 0 then redis.call('PEXPIRE', key, ttl_ms) end end

local function pairs_of(key)
  local flat, found = redis.call('HGETALL', key), {}
  for i = 1, #flat, 2 do found[flat[i]] = flat[i + 1] end
  return found
end

-- what expires by koi's clock goes on expiring then
local function expires(key, new)
  local at = redis.call('ZSCORE', expiry, key)
  if not at then return end
  redis.call('ZREM', expiry, key)
  if redis.call('EXISTS', new) == 1 then redis.call('ZADD', expiry, 'LT', at, new) end
end

-- both lists, oldest first
local function move_list(key, new, stamp)
  local mine = redis.call('LRANGE', key, 0, -1)
  if #mine == 0 then return end
  local ttl_ms, all = math.max(redis.call('PTTL', key), redis.call('PTTL', new)), {}
  for _, list in ipairs({ mine, redis.call('LRANGE', new, 0, -1) }) do
    for _, value in ipairs(list) do
      all[#all + 1] = { at = tonumber(value:match('"' .. stamp .. '":(%d+)')) or 0, n = #all, text = moved(value) }
    end
  end
  table.sort(all, function(a, b) return a.at < b.at or a.at == b.at and a.n < b.n end)
  redis.call('DEL', new)
  for _, one in ipairs(all) do redis.call('RPUSH', new, one.text) end
  lives(new, ttl_ms)
  redis.call('DEL', key)
  expires(key, new)
end

-- things and facts: an id that the new chat has given to something else is given anew, also where it is named
local function move_things()
  local things, facts = pairs_of(KEYS[7]), pairs_of(KEYS[9])
  if next(things) == nil and next(facts) == nil then return end
  local mine, theirs = tonumber(things.version) or 0, tonumber(redis.call('HGET', KEYS[8], 'version')) or 0
  local version, ids = math.max(mine, theirs), {}
  if theirs > 0 then version = version + 1 end      -- whoever has read them reads again
  things.version = nil
  local function named(hash, found)
    for id in pairs(found) do
      ids[id] = id
      if redis.call('HEXISTS', hash, id) == 1 then
        version = version + 1
        ids[id] = id:sub(1, 1) .. version
      end
    end
  end
  named(KEYS[8], things)
  named(KEYS[10], facts)
  local function stored(hash, found)
    for id, value in pairs(found) do
      value = moved(value):gsub('"id":"' .. exact(id) .. '"', '"id":"' .. ids[id] .. '"', 1)
      value = value:gsub('"about":"(%w+)"', function(other) return '"about":"' .. (ids[other] or other) .. '"' end)
      redis.call('HSET', hash, ids[id], value)
      local at = redis.call('ZSCORE', due, owner .. '|' .. id)
      if at then
        redis.call('ZREM', due, owner .. '|' .. id)
        redis.call('ZADD', due, at, new_owner .. '|' .. ids[id])
      end
    end
  end
  stored(KEYS[8], things)
  stored(KEYS[10], facts)
  if version > 0 then redis.call('HSET', KEYS[8], 'version', version) end
  redis.call('DEL', KEYS[7], KEYS[9])
end

local function move_letters()
  for id, letter in pairs(pairs_of(KEYS[11])) do
    redis.call('HSET', KEYS[12], id, moved(moved(letter), '\\"'))
    local at = redis.call('ZSCORE', dead, owner .. '|' .. id)
    redis.call('ZREM', dead, owner .. '|' .. id)
    if at then redis.call('ZADD', dead, at, new_owner .. '|' .. id) end
  end
  redis.call('DEL', KEYS[11])
end

-- a conversation that runs under the new id goes on: what the other one said is in the ring
local function move_lane(lane)
  for i = 12, #ARGV do
    local key, new = ARGV[i] .. lane.old, ARGV[i] .. lane.new
    if redis.call('EXISTS', key) == 1 then
      if redis.call('EXISTS', new) == 0 then
        redis.call('RENAME', key, new)
        if i < first_hash then
          local ttl_ms, text = redis.call('PTTL', new), redis.call('GET', new)
          redis.call('SET', new, moved(text))
          lives(new, ttl_ms)
        end
      end
      redis.call('DEL', key)
      expires(key, new)
    end
  end
end

-- the turn that is fixed; its holder, if there is one, is fenced by the end of its lease, and whoever claims the lane
-- next makes the same turn with what it has kept
local function move_turn(from, to, state)
  if not state.turn or redis.call('HEXISTS', to.state, 'turn') == 1 then return end
  local stale = state.owner and state.owner ~= '' and state.epoch ~= epoch
  redis.call('HSET', to.state, 'turn', state.turn, 'taken', state.taken or '', 'epoch', stale and 'forgotten' or new_epoch)
  for _, name in ipairs({ 'failures', 'deaths' }) do
    if state[name] then redis.call('HSET', to.state, name, state[name]) end
  end
  for name, value in pairs(pairs_of(from.kept)) do redis.call('HSET', to.kept, name, moved(value)) end
  lives(to.kept, redis.call('PTTL', from.kept))
end

local function move_waiting(move)
  local from, to, state = move.from, move.to, pairs_of(move.from.state)
  local waiting = redis.call('LRANGE', from.items, 0, -1)
  for i = #waiting, 1, -1 do redis.call('LPUSH', to.items, waiting[i]) end      -- before those that came later
  for id, body in pairs(pairs_of(from.bodies)) do redis.call('HSET', to.bodies, id, moved(body)) end
  if #waiting > 0 then
    local single, theirs = tonumber(state.single) or 0, tonumber(redis.call('HGET', to.state, 'single')) or 0
    move_turn(from, to, state)
    if state.owner then redis.call('HSET', to.state, 'owner', state.owner == owner and new_owner or state.owner) end
    if theirs > 0 then single = theirs + #waiting end
    if single > 0 then redis.call('HSET', to.state, 'single', single) end
    for _, name in ipairs({ 'not_before', 'hold_until', 'held_since' }) do
      if state[name] then redis.call('HSETNX', to.state, name, state[name]) end
    end
  end
  local job = redis.call('GET', from.job)
  redis.call('DEL', from.items, from.bodies, from.state, from.kept, from.lease, from.job)
  redis.call('ZREM', move.queue, from.id)
  if #waiting == 0 then return 0 end
  job = job or '{"t":null,"f":"run_lane","a":["' .. from.id .. '"],"k":{},"et":' .. now_ms .. '}'
  redis.call('SET', to.job, (job:gsub(exact(from.id), put(to.id))), 'NX')
  if redis.call('PTTL', to.lease) <= 0 then      -- held: its end queues it
    local at = math.max(now_ms, tonumber(state.not_before) or 0, tonumber(state.hold_until) or 0)
    redis.call('ZADD', move.queue, at, to.id)
    redis.call('LPUSH', move.queue .. ':bell', '1')
  end
  return 1
end

local count = 0
for _, move in ipairs(moves) do count = count + move_waiting(move) end
for _, lane in ipairs(lanes) do move_lane(lane) end
move_list(KEYS[3], KEYS[4], 'at_ms')
move_list(KEYS[5], KEYS[6], 'at_ms')
move_things()
move_letters()
local group = redis.call('HGET', groups, chat)
if group then redis.call('HSETNX', groups, new_chat, moved(group)) end      -- the old one stays: other bots may lag behind
if redis.call('DEL', KEYS[19]) == 1 then redis.call('SET', KEYS[20], '1') end
if #jobs > 0 then
  for _, job_id in ipairs(jobs) do
    local head = renamed(job_id)
    redis.call('SADD', KEYS[2], head and head .. ':' .. new_chat .. ':0' or job_id)
  end
  redis.call('PEXPIRE', KEYS[2], LANES_OF_TTL_MS)
  redis.call('DEL', lanes_of)
end
return { 'done', count }
