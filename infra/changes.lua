-- Included by commit, step and deliver: reads the words that infra/changes.py makes of effects and pushes, from ARGV[at] on, and
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

local function read_expect()
  local key, field, is_there, wanted = word(), word(), word(), word()
  return { key = key, field = field, value = is_there == '1' and wanted }      -- false, as HGET says it, for none
end

local function read_push()
  local id = word()
  return { job_id = id, queue = word(), item_id = word(), body = word(), owner = word(), solo = word(), hold_ms = word(),
           lane = lane_of(id) }
end

-- the key for which e cannot be applied, or nil
local function effect_wrong_type(e) return e.type ~= 'any' and wrong_type(e.words[2], e.type) or nil end

-- HINCRBY may have several pairs of field and number (infra.effect): half of a commit's time would go into reading them apart
local function apply(e)
  local words = e.words
  if words[1] ~= 'HINCRBY' then return redis.call(unpack(words)) end
  for i = 3, #words, 2 do redis.call('HINCRBY', words[2], words[i], words[i + 1]) end
end

local function all_as_expected(expects)
  for _, e in ipairs(expects) do
    if redis.call('HGET', e.key, e.field) ~= e.value then return false end
  end
  return true
end
