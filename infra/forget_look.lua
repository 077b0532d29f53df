-- forget_look: read everything that holds text of an owner, in one step
-- KEYS[1] ring   KEYS[2] lanes of the owner   KEYS[3] dead letters of the owner   KEYS[4] facts of the owner
-- ARGV[1] prefix of a lane's keys (infra.keys.LANE_PREFIX)
-- RETURNS {stamp of what was seen, {ring entries, {id, letter, …}, {id, fact, …}, {job_id, items, bodies, kept}…}}
-- INCLUDE forget_sight.lua
local seen = sight(KEYS, ARGV[1])
return { stamp(seen), seen }
