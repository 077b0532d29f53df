-- ingest: take a batch of items into their lanes, in order, each once; stop at the first that cannot be stored
-- ARGV[1] claim ttl, ms   ARGV[2] offset key or ''   ARGV[3] offset   ARGV[4] offset ttl, ms
-- ARGV[5…]  seven per item: job_id, queue, item_id, body, owner, solo 0|1, hold_ms
-- RETURNS {taken, repeats, error}: items from the front that are safe, how many of them were known, '' or what stopped it
-- INCLUDE infra/lane.lua
local claim_ttl, offset_key = ARGV[1], ARGV[2]
local taken, repeats = 0, 0
for i = 5, #ARGV, 7 do
  local p = { job_id = ARGV[i], queue = ARGV[i + 1], item_id = ARGV[i + 2], body = ARGV[i + 3], owner = ARGV[i + 4],
              solo = ARGV[i + 5], hold_ms = ARGV[i + 6], lane = lane_keys(ARGV[i]) }
  local k, claim = p.lane, 'koi:seen:' .. p.item_id
  k.is_new = redis.call('EXISTS', claim, k.items, k.bodies, k.state, k.lease, k.job) == 0
  if not k.is_new and redis.call('EXISTS', claim) == 1 then
    repeats = repeats + 1
  else
    local bad = push_wrong_type(p)
    if bad then return { taken, repeats, 'WRONGTYPE ' .. bad } end
    push(p)
    redis.call('SET', claim, now_ms(), 'PX', claim_ttl)      -- last: whoever fails before it is taken again
  end
  taken = taken + 1
end
if offset_key ~= '' then redis.call('SET', offset_key, ARGV[3], 'PX', ARGV[4]) end
return { taken, repeats, '' }
