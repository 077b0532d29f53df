-- Included by commit and step: reads the words that lanes/changes.py makes of effects and pushes, from ARGV[at] on, and
-- asks whether an effect can be applied.

local at
local function word()
  at = at + 1
  return ARGV[at - 1]
end

local function list(read)
  local out = {}
  for i = 1, tonumber(word()) do out[i] = read() end
  return out
end

local lanes = {}      -- job_id → its keys
local function lane_of(id)
  if not lanes[id] then
    local new = lane_keys(id)
    new.is_new = redis.call('EXISTS', new.items, new.bodies, new.state, new.lease, new.job) == 0
    lanes[id] = new
  end
  return lanes[id]
end

local function read_effect() return { when = word(), type = word(), words = list(word) } end

local function read_push()
  local id = word()
  return { job_id = id, queue = word(), item_id = word(), body = word(), owner = word(), solo = word(), hold_ms = word(),
           lane = lane_of(id) }
end

-- the key for which e cannot be applied, or nil
local function effect_wrong_type(e) return e.type ~= 'any' and wrong_type(e.words[2], e.type) or nil end
